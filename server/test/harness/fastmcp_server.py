"""An MCP server with FastMCP that introspects its tokens: fastmcp_server.py ISSUER PORT SECRET"""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
from fastmcp.server.dependencies import get_access_token

issuer, port, secret = sys.argv[1:]
base = f"http://127.0.0.1:{port}"
verifier = IntrospectionTokenVerifier(
    introspection_url=f"{issuer}/token/introspect",
    client_id="my-mcp",
    client_secret=secret,
    required_scopes=["mcp:use"],
    audience=f"{base}/mcp",
)
server = FastMCP("my-mcp", auth=RemoteAuthProvider(verifier, [issuer], base))


@server.tool
def whoami() -> str:
    return get_access_token().client_id


server.run(transport="http", host="127.0.0.1", port=int(port), show_banner=False)
