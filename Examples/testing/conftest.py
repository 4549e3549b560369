pytest_plugins = ["apns_simulator"]
