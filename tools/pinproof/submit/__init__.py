"""From proofs to a pull request: evidence, policy, the human review, the branch, the body, sending."""
