"""Follows the endings of a grantd server, with nothing but Python's library (docs/follow.md).

Reads lines with a client_id, a sub and all `ending_keys`, as a verified JWT has them, and says what to do with that token:
    python3 follower.py ISSUER CLIENT_ID CLIENT_SECRET
"""
import base64, hashlib, json, sys, threading, time, urllib.parse, urllib.request, uuid


class Follower:
    MAX_SILENCE = 3  # seconds

    def __init__(self, issuer, client_id, secret):
        credentials = urllib.parse.quote_plus(client_id) + ":" + urllib.parse.quote_plus(secret)
        self.basic, self.bearer = "Basic " + base64.b64encode(credentials.encode()).decode(), ""
        self.url = issuer.rstrip("/") + "/token/follow"
        self.endings, self.mark, self.contact = {}, None, float("-inf")  # a real one drops endings after kept_for
        for work in (self.read, self.beat):
            threading.Thread(target=self.forever, args=(work,), daemon=True).start()

    def send(self, authorization, body=None, query=""):
        request = urllib.request.Request(self.url + query, body, {"Authorization": authorization})
        return urllib.request.urlopen(request, timeout=self.MAX_SILENCE)

    def forever(self, work):
        while True:
            try:
                work()
            except (OSError, ValueError):
                time.sleep(0.5)

    def read(self):
        fields, form = {}, {"after": self.mark} if self.mark else {}
        for line in self.send(self.basic, urllib.parse.urlencode(form).encode()):
            name, _, value = line.decode().strip().partition(": ")
            fields[name] = value
            if name:
                continue
            event, mark, data = fields["event"], fields["id"], json.loads(fields["data"])
            if event == "begin":
                self.bearer = "Bearer " + data["pass"]
            if event == "begin" and not data["complete"]:
                self.endings, self.mark = {key("all"): number(mark)}, mark
            elif event != "begin" and number(data["since"]) > number(self.mark):
                raise ValueError("a message is missing")
            for ended in data.get("keys", []):
                self.endings[ended] = max(number(mark), self.endings.get(ended, 0))
            self.mark, fields = max(mark, self.mark or mark, key=number), {}

    def beat(self):
        sent, nonce = time.monotonic(), uuid.uuid4().hex
        answer = json.load(self.send(self.bearer, query="?nonce=" + nonce))
        while self.mark is None or number(self.mark) < number(answer["mark"]):
            if time.monotonic() - sent > self.MAX_SILENCE:
                return
            time.sleep(0.01)
        if answer["nonce"] == nonce:
            self.contact = sent
        time.sleep(1)

    def advice(self, client_id, sub, *ending_keys):
        """What to do with a valid JWT: `accept`, or introspect it. Remember what introspection says until a later ending."""
        if time.monotonic() - self.contact > self.MAX_SILENCE:
            return "introspect: no contact"
        keys = key("all"), key("client", client_id), key("subject", sub), key("grant", client_id, sub), *ending_keys
        return "introspect: it may have ended" if any(one in self.endings for one in keys) else "accept"


def key(*names):
    return base64.urlsafe_b64encode(hashlib.sha256("\n".join(names).encode()).digest()[:6]).decode()


def number(mark):
    return int(mark.split(".")[0])


if __name__ == "__main__":
    follower = Follower(*sys.argv[1:4])
    for line in sys.stdin:
        print(follower.advice(*line.split()), flush=True)
