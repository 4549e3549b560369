import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from running import certificates, lasting, shared, simulator, start  # noqa: E402, F401
