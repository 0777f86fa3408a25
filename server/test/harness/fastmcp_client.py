"""A client of FastMCP: fastmcp_client.py URL [DOCUMENT]

It calls the tool whoami for each line of the standard input, and prints a JSON line with the answer. Before, it prints a
JSON line with each URL that its user has to visit. Its own server receives the callback. For the line "refresh", its
access token counts as expired.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.auth import OAuth


def say(**members):
    print(json.dumps(members), flush=True)


class Visiting(OAuth):
    async def redirect_handler(self, url):
        say(visit=url)


async def main(url, document=None):
    auth = Visiting(url, client_metadata_url=document)
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line == "refresh\n":
            auth.context.token_expiry_time = 1
        async with Client(url, auth=auth) as client:
            answer = await client.call_tool("whoami", {})
            tokens = auth.context.current_tokens
            say(client=answer.data, tokens=tokens.model_dump(mode="json"))


asyncio.run(main(*sys.argv[1:]))
