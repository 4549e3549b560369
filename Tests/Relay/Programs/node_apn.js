// node_apn.js PORT FEEDBACK_PORT CERTIFICATE TOKENS: pushes as node-apn 1.x did: it keeps what it has written, and if
// an error packet names one of these notifications, it reconnects and resends all later ones. Identifiers grow, the
// expiry is 0. Then it reads the feedback list. Prints a line for each reported token, after "packet" or "feedback".
const fs = require('fs'), tls = require('tls');
const [port, feedbackPort, certificate, tokens] = process.argv.slice(2);
const pem = fs.readFileSync(certificate);
const options = { host: 'localhost', cert: pem, key: pem, rejectUnauthorized: false };
const devices = fs.readFileSync(tokens, 'utf8').split(/\s+/).filter(Boolean);

function frame(id, token) {
  const payload = Buffer.from(JSON.stringify({ aps: { alert: 'Hello', badge: 1 } }));
  const items = [[1, Buffer.from(token, 'hex')], [2, payload], [3, number(id)], [4, number(0)], [5, Buffer.from([10])]];
  const body = Buffer.concat(items.map(([kind, data]) => Buffer.concat([Buffer.from([kind, data.length >> 8, data.length & 255]), data])));
  return Buffer.concat([Buffer.from([2]), number(body.length), body]);
}

function number(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

// Milliseconds of silence after the last write that count as success, because there is no other sign of it.
const QUIET = 2000;

function push(next, done) {
  if (next >= devices.length) return done();
  let timer, answer = Buffer.alloc(0), sent = next;
  const socket = tls.connect({ ...options, port }, function write() {
    while (sent < devices.length) {
      const more = socket.write(frame(sent, devices[sent++]));
      if (!more) return socket.once('drain', write);
    }
    timer = setTimeout(() => { socket.removeAllListeners(); socket.end(); done(); }, QUIET);
  });
  socket.on('data', data => { answer = Buffer.concat([answer, data]); });
  socket.on('error', () => {});
  socket.on('close', () => {
    clearTimeout(timer);
    if (answer.length < 6) throw new Error('it closed without an answer');
    const id = answer.readUInt32BE(2);
    if (answer[1] !== 8) throw new Error('status ' + answer[1]);
    console.log('packet', devices[id]);
    push(id + 1, done);
  });
}

push(0, () => {
  let list = Buffer.alloc(0);
  const socket = tls.connect({ ...options, port: feedbackPort });
  socket.on('data', data => { list = Buffer.concat([list, data]); });
  socket.on('end', () => {
    for (let at = 0; at < list.length; at += 38) console.log('feedback', list.subarray(at + 6, at + 38).toString('hex'));
  });
});
