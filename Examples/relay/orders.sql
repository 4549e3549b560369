-- Enqueues notifications from an application's own tables:
--
--     sqlite3 -bail -cmd '.timeout 30000' shop.db <orders.sql
--
-- It may run any number of times, because each order is enqueued once. SQLite waits up to 30,000 ms for
-- other writers. A single statement is a transaction. A committed notification is not lost.
ATTACH 'queue.db' AS queue;
INSERT OR IGNORE INTO queue.entries (app, id, token, payload)
SELECT 'shop', 'order-' || number, device, json_object('aps', json_object('alert', text)) FROM orders
ORDER BY number;
SELECT changes() || ' enqueued';
