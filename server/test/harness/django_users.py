# Prints what `manage.py dumpdata auth.user --natural-foreign` of a new Django project with three users prints.
import django
from django.conf import settings

settings.configure(
    SECRET_KEY='x',
    INSTALLED_APPS=['django.contrib.auth', 'django.contrib.contenttypes'],
    DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}},
    DEFAULT_AUTO_FIELD='django.db.models.AutoField',
)
django.setup()

from django.contrib.auth.models import Group, User
from django.core.management import call_command

call_command('migrate', verbosity=0)
ann = User.objects.create_user('ann', 'ann@example.com', 'correct horse', first_name='Ann', last_name='Lee')
ann.groups.add(Group.objects.create(name='staff'))
bob = User.objects.create_superuser('bob', 'bob@example.com', 'correct horse')
bob.is_active = False
bob.save()
User.objects.create_user('cat')
call_command('dumpdata', 'auth.user', '--natural-foreign')
