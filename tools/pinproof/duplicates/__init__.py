"""The duplicate scan: does a pull request already do what this patch does?"""
