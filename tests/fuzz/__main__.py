import sys

from tests.fuzz.runner import main

sys.exit(main())
