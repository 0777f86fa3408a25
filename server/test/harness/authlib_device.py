"""A command line with Authlib, which signs in with a code (RFC 8628).

Prints a JSON line with the response of the device authorization endpoint, polls until the user has decided, and prints a
JSON line with the tokens before and after a refresh, the claims of the user, and what a refresh gets after revocation.
"""

import json
import sys
import time

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


def say(**members):
    print(json.dumps(members), flush=True)


def main(issuer, client_id, scope):
    session = OAuth2Session(client_id, token_endpoint_auth_method="none")
    metadata = session.get(f"{issuer}/.well-known/openid-configuration", withhold_token=True).json()
    endpoint = metadata["device_authorization_endpoint"]
    form = {"client_id": client_id, "scope": scope}
    device = session.post(endpoint, data=form, withhold_token=True).json()
    say(**device)

    interval, errors = device["interval"], []
    while True:
        try:
            url, code = metadata["token_endpoint"], device["device_code"]
            first = session.fetch_token(url, grant_type=GRANT, device_code=code)
            break
        except AuthlibBaseError as error:
            errors.append(error.error)
            if error.error == "slow_down":
                interval += 5
            elif error.error != "authorization_pending":
                raise
        time.sleep(interval)

    user = session.get(metadata["userinfo_endpoint"]).json()
    second = session.refresh_token(url, first["refresh_token"])
    session.revoke_token(metadata["revocation_endpoint"], second["refresh_token"], "refresh_token")
    try:
        session.refresh_token(url, second["refresh_token"])
        refused = None
    except AuthlibBaseError as error:
        refused = error.error
    say(errors=errors, first=first, second=second, user=user, refused=refused)


main(*sys.argv[1:])
