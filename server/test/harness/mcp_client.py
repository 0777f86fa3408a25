"""A client of the official Python SDK of the Model Context Protocol.

Prints a JSON line with the URL that the user has to visit, reads the URL of the callback from the standard input, and
prints a JSON line with the client and the tokens of the flow, and with those after a refresh.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata


class Memory:
    client = None
    tokens = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


def say(**members):
    print(json.dumps(members), flush=True)


async def visit(url):
    say(visit=url)


async def returned():
    line = await asyncio.to_thread(sys.stdin.readline)
    return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(line.strip()).query)))


async def main(server, callback):
    memory = Memory()
    metadata = OAuthClientMetadata(client_name="Python SDK", redirect_uris=[callback])
    provider = OAuthClientProvider(server, metadata, memory, visit, returned)

    async def call():
        async with httpx2.AsyncClient(auth=provider, timeout=30) as client:
            answer = await client.get(server)
        return {"status": answer.status_code, "tokens": memory.tokens.model_dump(mode="json")}

    first = await call()
    provider.context.token_expiry_time = 1
    second = await call()
    say(client=memory.client.model_dump(mode="json"), first=first, second=second)


asyncio.run(main(*sys.argv[1:]))
