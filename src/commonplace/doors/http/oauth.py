"""OAuth 2.1 for `/mcp`: the SDK's handlers over our grants, and what a person is asked.

It knows the SDK and the addresses; what is kept, and for how long, `grants` knows. Clients have no
secrets of their own: what proves who asks for a token is the verifier of its code (PKCE), and what
a client has it must give back for the next. Imported only by a gateway that was asked for it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

from anyio.to_thread import run_sync
from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler, ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.provider import (
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    RegistrationError,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import cors_middleware
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from commonplace.doors.http.grants import ACCESS_SECONDS, SCOPE, Grants, Issued, TooManyClients
from commonplace.model.errors import NotFound
from commonplace.trust.neutralise import neutralise

CONSENT = "/consent"
WELL_KNOWN = "/.well-known/"
PATHS = ("/authorize", "/token", "/register", "/revoke", CONSENT)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
BROWSERS_OWN = (
    *("about", "blob", "chrome", "data", "file", "filesystem", "ftp", "http", "javascript"),
    *("vbscript", "view-source", "ws", "wss"),
)
"""Schemes of redirects that no program of the user's answers to."""
MOST_REDIRECTS = 10
LONGEST_CLIENT = 4000
"""Characters of what a client tells of itself."""
LONGEST_NAME = 60


class NoSuchRequest(NotFound):
    """A request for consent that no client makes in this form."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"Nobody asks for this: {why}.", next_step="Begin again in the program that sent you."
        )


class OAuthClient(OAuthClientInformationFull):  # type: ignore[misc, unused-ignore]
    """A client as we keep it: whatever it asks for, it is granted the tools of one vault."""

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        return [SCOPE]

    @property
    def shown_name(self) -> str:
        """What it calls itself, or where it is."""
        told = neutralise(self.client_name or "").strip()
        where = urlsplit(next(map(str, self.redirect_uris or ()), ""))
        return (told or where.hostname or where.scheme)[:LONGEST_NAME]


class OAuth:
    """The gateway as an OAuth server, at its public address."""

    def __init__(self, grants: Grants, *, url: str, vaults: Sequence[str]) -> None:
        self.url = url
        self._grants = grants
        self._vaults = vaults

    def is_open(self, path: str) -> bool:
        """Whether a page of another site may ask for this: nothing there heeds our cookie."""
        return path in PATHS or path.startswith(WELL_KNOWN)

    def challenge(self, path: str) -> str:
        """What tells a client without a token where to get one."""
        return f'Bearer resource_metadata="{self.url}{WELL_KNOWN}oauth-protected-resource{path}"'

    def routes(self) -> list[Route]:
        """What clients ask for. `/mcp` is guarded elsewhere."""
        provider: Any = self
        authenticator = ClientAuthenticator(provider)
        registration = ClientRegistrationOptions(enabled=True, default_scopes=[SCOPE])
        post: dict[str, Any] = {
            "/token": TokenHandler(provider, authenticator).handle,
            "/register": RegistrationHandler(provider, registration).handle,
            "/revoke": partial(self._revoke, authenticator),
        }
        authorize = AuthorizationHandler(provider).handle
        server = MetadataHandler(self._metadata()).handle
        found = [Route("/authorize", authorize, methods=["GET", "POST"])]
        for path, handle in post.items():
            endpoint = cors_middleware(handle, ["POST", "OPTIONS"])
            found.append(Route(path, endpoint, methods=["POST", "OPTIONS"]))
        told = {"oauth-authorization-server": server}
        for below in ("", "/mcp", *(f"/mcp/{vault}" for vault in self._vaults)):
            told[f"oauth-protected-resource{below}"] = self._resource(below or "/mcp")
            # Some ask below the path of what they want to use, and some as for OpenID.
            told[f"oauth-authorization-server{below}"] = server
        for name, handle in told.items():
            endpoint = cors_middleware(handle, ["GET", "OPTIONS"])
            found.append(Route(WELL_KNOWN + name, endpoint, methods=["GET", "OPTIONS"]))
        return found

    def _metadata(self) -> OAuthMetadata:
        return OAuthMetadata.model_validate(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "registration_endpoint": f"{self.url}/register",
                "revocation_endpoint": f"{self.url}/revoke",
                "scopes_supported": [SCOPE],
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
            }
        )

    def _resource(self, path: str) -> Any:
        told = {
            "resource": f"{self.url}{path}",
            "authorization_servers": [self.url],
            "scopes_supported": [SCOPE],
            "resource_name": "Commonplace",
        }
        return ProtectedResourceMetadataHandler(
            ProtectedResourceMetadata.model_validate(told)
        ).handle

    async def get_client(self, client_id: str) -> OAuthClient | None:
        told = await run_sync(self._grants.client, client_id)
        return OAuthClient.model_validate_json(told) if told else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a client, without a secret: the answer tells it what became of what it asked."""
        client_info.client_secret = client_info.client_secret_expires_at = None
        client_info.token_endpoint_auth_method = "none"
        client_info.scope = SCOPE
        told = client_info.model_dump_json(exclude_none=True)
        for each in client_info.redirect_uris or ():
            _check_redirect(str(each))
        if len(client_info.redirect_uris or ()) > MOST_REDIRECTS or len(told) > LONGEST_CLIENT:
            raise RegistrationError("invalid_client_metadata", "This is too much.")
        name = OAuthClient.model_validate_json(told).shown_name
        try:
            await run_sync(self._grants.add_client, client_info.client_id, name, told)
        except TooManyClients as error:
            raise RegistrationError("invalid_client_metadata", str(error)) from None

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        """The address of the consent page. Its query is checked again there."""
        if self._vault_of(params.resource or "") is None:
            raise AuthorizeError("invalid_target", "This gateway has no such resource.")
        asked = {
            "client_id": client.client_id,
            "redirect_uri": str(params.redirect_uri),
            "explicit": str(int(params.redirect_uri_provided_explicitly)),
            "code_challenge": params.code_challenge,
            "resource": params.resource or "",
        }
        state = {"state": params.state} if params.state is not None else {}
        return f"{self.url}{CONSENT}?{urlencode(asked | state)}"

    async def asked(self, given: dict[str, Any]) -> dict[str, Any]:
        """What a person is asked: who wants what, and where they are sent with the answer."""
        client, vault = await self._asking(given)
        where = urlsplit(_text(given, "redirect_uri"))
        return {
            "client": client.shown_name,
            "to": where.hostname if where.scheme in ("http", "https") else f"{where.scheme}:",
            "local": where.hostname in LOOPBACK,
            "vault": vault,
        }

    async def answered(self, given: dict[str, Any], *, allowed: bool) -> str:
        """Where the client is sent with what the person said."""
        client, vault = await self._asking(given)
        redirect = _text(given, "redirect_uri")
        state = given.get("state") if isinstance(given.get("state"), str) else None
        if not allowed:
            refused = partial(construct_redirect_uri, redirect, error="access_denied")
            return str(refused(state=state, iss=self.url))
        told = {
            "client": client.client_id,
            "redirect_uri": redirect,
            "explicit": _text(given, "explicit") == "1",
            "code_challenge": _text(given, "code_challenge"),
        }
        add = partial(self._grants.add_code, client.shown_name, vault=vault, told=told)
        code = await run_sync(add)
        return str(construct_redirect_uri(redirect, code=code, state=state, iss=self.url))

    async def _asking(self, given: dict[str, Any]) -> tuple[OAuthClient, str]:
        """The client that asks and the vault that it asks for, if it may ask so."""
        client = await self.get_client(_text(given, "client_id"))
        if client is None:
            raise NoSuchRequest("no such client is known")
        if _text(given, "redirect_uri") not in map(str, client.redirect_uris or ()):
            raise NoSuchRequest("the client is elsewhere")
        if not _text(given, "code_challenge"):
            raise NoSuchRequest("the client brings no challenge")
        vault = self._vault_of(_text(given, "resource"))
        if vault is None:
            raise NoSuchRequest("this gateway has no such vault")
        return client, vault

    def _vault_of(self, resource: str) -> str | None:
        """The vault that a resource is; None when it is not one of ours."""
        ours = {f"{self.url}/mcp/{vault}": vault for vault in self._vaults}
        ours |= dict.fromkeys(("", self.url, f"{self.url}/mcp"), self._vaults[0])
        return ours.get(resource.rstrip("/"))

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        found = await run_sync(self._grants.code, authorization_code)
        if found is None:
            return None
        told = json.loads(found.kept)
        return AuthorizationCode(
            code=authorization_code,
            scopes=[SCOPE],
            expires_at=found.until,
            client_id=told["client"],
            code_challenge=told["code_challenge"],
            redirect_uri=told["redirect_uri"],
            redirect_uri_provided_explicitly=told["explicit"],
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        return _told(await run_sync(self._grants.exchange, authorization_code.code))

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        found = await run_sync(self._grants.refresh, refresh_token)
        if found is None:
            return None
        return RefreshToken(
            token=refresh_token, client_id=found.kept, scopes=[SCOPE], expires_at=found.until
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        return _told(await run_sync(self._grants.renew, refresh_token.token))

    async def _revoke(self, authenticator: ClientAuthenticator, request: Request) -> Response:
        """Take back what a client was granted, by one of its tokens (RFC 7009).

        By hand: the SDK asks for a secret here, also of clients that have none.
        """
        try:
            client = await authenticator.authenticate_request(request)
        except AuthenticationError as error:
            told = json.dumps({"error": "invalid_client", "error_description": error.message})
            return Response(told, status_code=401, media_type="application/json")
        token = str((await request.form()).get("token", ""))
        await run_sync(partial(self._grants.end, token, client=client.client_id))
        return Response(headers={"cache-control": "no-store"})


def _check_redirect(given: str) -> None:
    """Back to a page by HTTPS, to a program on the user's machine, or to an app's own scheme."""
    parts = urlsplit(given)
    is_local = parts.scheme == "http" and parts.hostname in LOOPBACK
    is_good = is_local or bool(parts.scheme and parts.scheme not in BROWSERS_OWN)
    if (
        not is_good
        or parts.fragment
        or parts.username
        or (parts.scheme == "https") > bool(parts.hostname)
    ):
        raise RegistrationError("invalid_redirect_uri", f"Nobody is sent to {given[:200]}.")


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name, "")
    return value if isinstance(value, str) else ""


def _told(issued: Issued | None) -> OAuthToken:
    if issued is None:
        raise TokenError("invalid_grant", "it was used already, or taken back")
    return OAuthToken(
        access_token=issued.access,
        refresh_token=issued.refresh,
        expires_in=ACCESS_SECONDS,
        scope=SCOPE,
    )
