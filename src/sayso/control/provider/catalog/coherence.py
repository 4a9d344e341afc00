"""What has to fit together in a catalog, beyond the shape of each member (OAP-143, OAP-146). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sayso.control.provider.catalog.rows import Catalog, OAuthFlow, Row

__all__ = ("catalog_faults", "row_faults")


def catalog_faults(catalog: Catalog) -> list[str]:
    """Every fault of a catalog, in words that name the row; none is a good one."""
    faults = [f"{name} stands twice" for name in _twice(row.id for row in catalog.providers)]
    faults += [f"the preset {name} stands twice" for name in _twice(each.id for each in catalog.presets)]
    seen_other = False
    for row in catalog.providers:
        if row.status == "current" and seen_other:
            faults.append(f"{row.id} is current and stands behind a row that is not")
        seen_other = seen_other or row.status != "current"
    for row in catalog.providers:
        faults += [f"{row.id}: {fault}" for fault in row_faults(row)]
    return faults


def row_faults(row: Row) -> list[str]:
    """What does not fit together in one row, its id left out."""
    return [*_faults_of_lists(row), *_faults_of_endpoints(row), *_faults_of_sign_in(row)]


def _faults_of_lists(row: Row) -> Iterator[str]:
    for name in ("auth", "credential_env", "base_url_env", "wires", "credential_precedence"):
        if _twice(getattr(row, name)):
            yield f"{name} names something twice"
    if _twice(model.id for model in row.models):
        yield "models names a model twice"
    if not set(row.bearer_env) <= set(row.credential_env):
        yield "bearer_env names a variable that is not in credential_env"
    if row.max_context_window is not None and (row.context_window or 0) > row.max_context_window:
        yield "context_window is above max_context_window"


def _faults_of_endpoints(row: Row) -> Iterator[str]:
    if not {each.wire for each in row.endpoints} <= set(row.wires):
        yield "an endpoint has a wire that is not in wires"
    if _twice((each.wire, each.region) for each in row.endpoints):
        yield "two endpoints serve the same wire and region"
    if row.base_url_source in ("static", "local_default") and not row.endpoints:
        yield f"base_url_source is {row.base_url_source} and there is no endpoint"
    if row.base_url_source == "derived" and row.endpoints:
        yield "base_url_source is derived and there is an endpoint"
    regions = {each.region for each in row.endpoints if each.region is not None}
    if row.default_region is not None and row.default_region not in regions:
        yield "default_region is the region of no endpoint"
    if regions and row.default_region is None:
        yield "endpoints have regions and there is no default_region"
    if regions and any(each.region is None for each in row.endpoints):
        yield "some endpoints have a region and some have none"


def _faults_of_sign_in(row: Row) -> Iterator[str]:
    if row.oauth is not None and "oauth" not in row.auth:
        yield "oauth says how to sign in and auth does not list it"
    if row.oauth is not None and row.oauth_origin is None:
        yield "oauth has no oauth_origin: a token could go nowhere"
    if row.oauth is not None:
        yield from _faults_of_flow(row.oauth)
    if row.credential_env and "api_key" not in row.auth:
        yield "credential_env names variables and auth does not list api_key"


def _faults_of_flow(flow: OAuthFlow) -> Iterator[str]:
    if flow.device_endpoint is None and flow.authorization_endpoint is None:
        yield "oauth has neither a device_endpoint nor an authorization_endpoint"
    if flow.client_id is None and flow.client_id_env is None:
        yield "oauth has neither client_id nor client_id_env"


def _twice(values: Iterable[object]) -> list[object]:
    every = list(values)
    return [each for at, each in enumerate(every) if each in every[:at]]
