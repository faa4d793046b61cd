from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

if TYPE_CHECKING:
    from ._operations import Proxy

ProxyProtocol = Literal["http", "socks5h", "https"]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _address(proxy: Proxy, protocol: ProxyProtocol, for_browser: bool) -> str:
    if protocol != "https":
        return f"{_bracketed(proxy['ip'])}:{proxy['port']}"
    host = proxy["browser_host"] if for_browser else proxy["https_host"]
    if host is None or proxy["https_port"] is None:
        raise ValueError("this proxy has no https address; use http")
    return f"{_bracketed(host)}:{proxy['https_port']}"


def _password(proxy: Proxy) -> str:
    password = proxy["password"]
    if password is None:
        raise ValueError("the password is hidden: the token lacks the scope passwords")
    return password


def proxy_url(proxy: Proxy, protocol: ProxyProtocol = "http") -> str:
    """A URL with login and password."""
    login = f"{quote(proxy['username'], safe='')}:{quote(_password(proxy), safe='')}"
    return f"{protocol}://{login}@{_address(proxy, protocol, False)}"


def proxies_of(proxy: Proxy, protocol: ProxyProtocol = "http") -> dict[str, str]:
    """For requests (``proxies=``) and urllib (``ProxyHandler``)."""
    url = proxy_url(proxy, protocol)
    return {"http": url, "https": url}


def playwright_proxy(proxy: Proxy, protocol: Literal["http", "https"] = "http") -> dict[str, str]:
    """For Playwright: ``chromium.launch(proxy=playwright_proxy(proxy))``."""
    server = f"{protocol}://{_address(proxy, protocol, True)}"
    return {"server": server, "username": proxy["username"], "password": _password(proxy)}
