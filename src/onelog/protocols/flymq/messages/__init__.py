"""What FlyMQ's peers say to each other, a module per family; forms.py has the forms of all of it."""
