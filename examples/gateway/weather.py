"""A weather service for fetchWeather to ask: GET /current?city=Tokyo. It makes the weather up.

python examples/gateway/weather.py [PORT]
"""

from __future__ import annotations

import contextlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PORT = 8421
SKIES = ("clear", "cloudy", "rainy")


class Weather(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        city = parse_qs(asked.query).get("city", [""])[0]
        known = asked.path == "/current" and bool(city)
        degrees, sky = 8 + 3 * len(city) % 20, SKIES[len(city) % len(SKIES)]
        answer = {"city": city, "degrees": degrees, "sky": sky} if known else {"error": "Ask for /current?city=NAME."}
        body = json.dumps(answer).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        print(format % args, flush=True)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    with ThreadingHTTPServer(("127.0.0.1", port), Weather) as server:
        print(f"The weather is on http://127.0.0.1:{server.server_port}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
