"""Every file of a project, out of the indexes and find-links places that pip and uv are told to use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pinproof.errors import CannotCheck, InputError
from pinproof.index.session import IndexSession, Offline, local_path
from pinproof.index.settings import Settings, settings
from pinproof.index.trouble import TIMEOUT_S, trouble

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage

    from pinproof.index.said import Place


def files_of(project: str) -> list[DistributionPackage]:
    """The files of a project, yanked ones too, the preferred place's first; a name is there once.

    Raises:
        InputError: no place knows the project.
        CannotCheck: a place cannot be reached or read.
    """
    chosen = settings()
    with IndexSession(chosen) as session:
        found = [file for place in chosen.find_links for file in _linked(place, project, session)]
        for group in chosen.asked():
            known = [file for place in group for file in _indexed(place, project, session)]
            found += known
            if known:
                break
    if not found:
        raise InputError(f"the package index has no project {project!r}", hint=_asked(chosen))
    return list({file.filename: file for file in reversed(found)}.values())[::-1]


def _asked(chosen: Settings) -> str | None:
    """Which places were asked, where that is not simply PyPI."""
    if not chosen.fingerprint():
        return None
    names = [_name(place) for place in chosen.places()]
    return f"asked: {', '.join(names)}" if names else "--no-index, and no --find-links: nothing was asked"


def _name(place: Place) -> str:
    return urlsplit(place.url).netloc or str(local_path(place.url))


def _indexed(place: Place, project: str, session: IndexSession) -> list[DistributionPackage]:
    from pypi_simple import NoSuchProjectError, PyPISimple

    with _explained(place, project):
        try:
            client = PyPISimple(endpoint=place.url, session=session)
            page = client.get_project_page(project, timeout=TIMEOUT_S)
        except NoSuchProjectError:
            return []
    return _allowed(page.packages, place)


def _linked(place: Place, project: str, session: IndexSession) -> list[DistributionPackage]:
    """The files of a find-links place: a folder's own, or those that a page links to."""
    from packaging.utils import canonicalize_name
    from pypi_simple import ProjectPage

    with _explained(place, project):
        folder = local_path(place.url)
        if place.url.startswith("file:") and folder.is_dir():
            files = [_local(entry.name, entry.as_uri()) for entry in sorted(folder.iterdir())]
        else:
            reply = session.get(place.url, timeout=TIMEOUT_S)
            if reply.status_code == 404:
                return []
            reply.raise_for_status()
            files = _allowed(ProjectPage.from_html(project, reply.content, reply.url).packages, place)
    wanted = canonicalize_name(project)
    return [file for file in files if file.project and canonicalize_name(file.project) == wanted]


def _local(name: str, url: str) -> DistributionPackage:
    from pypi_simple import DistributionPackage, Link

    return DistributionPackage.from_link(Link(text=name, url=url, attrs={}))


def _allowed(files: Iterable[DistributionPackage], place: Place) -> list[DistributionPackage]:
    """Without links that lead from a server to a file of this machine."""
    local = place.url.startswith("file:")
    return [file for file in files if local or not file.url.lower().startswith("file:")]


@contextlib.contextmanager
def _explained(place: Place, project: str) -> Iterator[None]:
    import requests
    from pypi_simple.errors import UnsupportedContentTypeError, UnsupportedRepoVersionError

    try:
        yield
    except Offline as error:
        raise trouble(f"which releases of {project} there are", error) from error
    except requests.RequestException as error:
        raise trouble(f"the package index for {project} at {_name(place)}", error) from error
    except (ValueError, UnsupportedContentTypeError, UnsupportedRepoVersionError) as error:
        raise CannotCheck(
            f"what the package index says about {project} cannot be read ({type(error).__name__})",
            hint=f"asked: {_name(place)}",
        ) from error
