-- The app server of XEP-0357 for iOS apps: pushes what mod_cloud_notify publishes, through the HTTP listener of apns-relay.
--
-- Component "push.example.com" "push_apns"
--     push_apns_topic = "com.example.chat"

local now = os.time;
local http = require "net.http";
local json = require "util.json";
local jid_host = require "util.jid".host;
local st = require "util.stanza";
local uuid = require "util.uuid".generate;

local relay = module:get_option_string("push_apns_relay", "http://127.0.0.1:8200");
local bearer = module:get_option_string("push_apns_bearer");
local topic = module:get_option_string("push_apns_topic");
-- XMPP servers that may publish: by default the host above this component, and those beside it.
local servers = module:get_option_set("push_apns_servers", { module.host:match("^[^%.]+%.(.+)$") });
local max_pending = module:get_option_number("push_apns_max_pending", 10000);
local max_age = module:get_option_number("push_apns_max_age", 86400);

local xmlns_pubsub = "http://jabber.org/protocol/pubsub";
local xmlns_push = "urn:xmpp:push:0";
local bad_token = { BadDeviceToken = true, DeviceTokenNotForTopic = true, Unregistered = true, ExpiredToken = true };

local pending = 0;
local relay_is_away = false;

module:depends("disco");
module:add_identity("pubsub", "push", "Push notifications for iOS");
module:add_feature(xmlns_push);

-- At most this many bytes, and no part of a character.
local function shorten(text, most)
	if #text <= most then return text; end
	return (text:sub(1, most):gsub("[\192-\255][\128-\191]*$", "")) .. "…";
end

local function field(form, name)
	for each in form:childtags("field") do
		if each.attr.var == name then return each:get_child_text("value"); end
	end
end

-- An alert if the summary has a message, otherwise a background push, which wakes the app.
local function payload_of(notification)
	local form = notification:get_child("x", "jabber:x:data");
	local body = form and field(form, "last-message-body");
	if not body then
		return { aps = { ["content-available"] = 1 } }, "background", "5";
	end
	local sender = field(form, "last-message-sender");
	return {
		aps = {
			alert = { title = sender and shorten(sender, 200), body = shorten(body, 1000) };
			sound = "default";
			["mutable-content"] = 1;
		};
	}, "alert", "10";
end

-- Answers the publish request, when the push has its outcome.
local function finish(reply)
	pending = pending - 1;
	module:send(reply);
end

local ask;

local function ask_again(push)
	if now() - push.since > max_age then
		module:log("error", "No outcome of push %s within %d s: %s", push.headers["apns-id"], max_age,
			push.is_queued and "the relay still has it" or "not pushed");
		return finish(st.error_reply(push.stanza, "wait", "remote-server-timeout"));
	end
	push.delay = math.min(60, push.delay * 2);
	module:add_timer(push.delay, function () ask(push); end);
end

local function handle_response(push, text, code)
	if code == 0 or code == 503 then
		-- The relay is away, or cannot write its queue.
		if not relay_is_away then module:log("error", "The relay does not accept pushes: %s", text); end
		relay_is_away = true;
		return ask_again(push);
	end
	if relay_is_away then module:log("info", "The relay accepts pushes again"); end
	relay_is_away = false;
	if code == 200 then
		module:log("debug", "Pushed %s", push.headers["apns-id"]);
		return finish(st.reply(push.stanza));
	elseif code == 202 then
		-- It is safe in the relay's queue. The same request with the same ID pushes nothing, and returns the outcome.
		push.is_queued = true;
		return ask_again(push);
	end
	local answer = json.decode(text or "");
	local reason = type(answer) == "table" and answer.reason or tostring(code);
	if bad_token[reason] then
		-- mod_cloud_notify disables a device after push_max_errors of these.
		module:log("info", "The device of %s is gone: %s", push.stanza.attr.from, reason);
		finish(st.error_reply(push.stanza, "cancel", "item-not-found", reason));
	else
		-- Not the device's fault, so it stays enabled.
		module:log("error", "Not pushed for %s: %s", push.stanza.attr.from, reason);
		finish(st.error_reply(push.stanza, "wait", "internal-server-error", reason));
	end
end

function ask(push)
	http.request(push.url, { method = "POST", headers = push.headers, body = push.body }, function (text, code)
		handle_response(push, text, code);
	end);
end

-- https://xmpp.org/extensions/xep-0357.html#publishing
module:hook("iq-set/host/"..xmlns_pubsub..":pubsub", function (event)
	local origin, stanza = event.origin, event.stanza;
	local publish = stanza.tags[1]:get_child("publish");
	local item = publish and publish:get_child("item");
	local notification = item and item:get_child("notification", xmlns_push);
	if not servers:contains(jid_host(stanza.attr.from)) then
		origin.send(st.error_reply(stanza, "auth", "forbidden"));
		return true;
	elseif not notification then
		origin.send(st.error_reply(stanza, "modify", "bad-request"));
		return true;
	end
	local token = publish.attr.node or "";
	if not token:match("^%x+$") or #token > 200 then
		origin.send(st.error_reply(stanza, "cancel", "item-not-found", "The node is not a device token"));
		return true;
	elseif pending >= max_pending then
		module:log("error", "Not pushed for %s: %d pushes have no outcome yet", stanza.attr.from, pending);
		origin.send(st.error_reply(stanza, "wait", "resource-constraint"));
		return true;
	end
	local payload, push_type, priority = payload_of(notification);
	pending = pending + 1;
	ask({
		stanza = stanza;
		url = relay .. "/3/device/" .. token;
		body = json.encode(payload);
		headers = {
			["Content-Type"] = "application/json";
			["Authorization"] = bearer and "Bearer " .. bearer;
			["Prefer"] = "respond-async";
			["apns-id"] = uuid();
			["apns-topic"] = topic;
			["apns-push-type"] = push_type;
			["apns-priority"] = priority;
		};
		since = now();
		delay = 0.5;
	});
	return true;
end);

function module.unload()
	if pending > 0 then
		module:log("warn", "%d pushes have no outcome yet; those that the relay has accepted are safe there", pending);
	end
end
