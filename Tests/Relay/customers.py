"""A campaign's list of devices with values, numbered from 0."""

ALERT = "Hello {{name}}, your order is on its way and arrives on Thursday between nine and eleven o'clock"


def token(number):
    return f"{number * 2654435761 % 4294967296:08x}{number:056x}"


def number_of(token):
    return int(token[8:], 16)


def write_list(path, count):
    with open(path, "w") as file:
        for n in range(count):
            file.write(f'{{"token": "{token(n)}", "name": "Customer {n}"}}\n')
