"""A Django site with django-allauth, which signs in as the settings in a file say, and shows the user's username and email.

Arguments: the file, an SQLite file to create, and the port.
"""

import sys
from pathlib import Path
from wsgiref.simple_server import make_server

import django
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import include, path

file, database, port = sys.argv[1:]
own = {"os": __import__("os")}
exec(Path(file).read_text(), own)
settings.configure(
    SECRET_KEY="a secret of the test",
    ALLOWED_HOSTS=["localhost"],
    ROOT_URLCONF=__name__,
    LOGIN_REDIRECT_URL="/",
    SOCIALACCOUNT_LOGIN_ON_GET=True,
    ACCOUNT_DEFAULT_HTTP_PROTOCOL="http",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": database}},
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "allauth",
        "allauth.account",
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "allauth.account.middleware.AccountMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
        }
    ],
    SOCIALACCOUNT_PROVIDERS=own["SOCIALACCOUNT_PROVIDERS"],
)
django.setup()
urlpatterns = [
    path("", lambda request: HttpResponse(f"{request.user} {getattr(request.user, 'email', '')}")),
    path("accounts/", include("allauth.urls")),
]
call_command("migrate", verbosity=0)
make_server("127.0.0.1", int(port), get_wsgi_application()).serve_forever()
