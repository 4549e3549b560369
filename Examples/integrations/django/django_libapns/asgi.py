"""Closes the clients of an ASGI server's event loop when the server ends."""

from .clients import aclose


def closing(application):
    """The ASGI application, with the protocol "lifespan", which Django's does not have."""

    async def serve(scope, receive, send):
        if scope["type"] != "lifespan":
            return await application(scope, receive, send)
        while (await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        await aclose()
        await send({"type": "lifespan.shutdown.complete"})

    return serve
