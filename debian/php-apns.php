mod debian/apns.ini
