-- What an application's own tables say is to be pushed, put into the queue beside them:
--
--     sqlite3 -bail -cmd '.timeout 30000' shop.db <orders.sql
--
-- It may run as often as it likes, because each order is enqueued once. Others may be writing: SQLite
-- waits for them so many ms. A statement by itself is a transaction; what it has committed is not lost.
ATTACH 'queue.db' AS queue;
INSERT OR IGNORE INTO queue.entries (app, id, token, payload)
SELECT 'shop', 'order-' || number, device, json_object('aps', json_object('alert', text)) FROM orders
ORDER BY number;
SELECT changes() || ' enqueued';
