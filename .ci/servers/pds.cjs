// Runs a PLC directory that keeps its data in memory and a Bluesky PDS in one process.
// Arguments: the folder that holds node_modules, and the run folder, which only marks this process as ours.
'use strict';
const { createRequire } = require('node:module');
const net = require('node:net');

const installed = createRequire(process.argv[2] + '/');
const { PlcServer, Database } = installed('@did-plc/server');
const { PDS, envToCfg, envToSecrets, readEnv } = installed('@atproto/pds');

// Neither server can be told an address to bind to, and both would listen on every interface.
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  if (typeof port !== 'number') return listen.call(this, port, ...rest);
  return listen.call(this, port, '127.0.0.1', ...rest.filter((arg) => typeof arg === 'function'));
};

async function main() {
  const plc = PlcServer.create({ db: Database.mock(), port: Number(process.env.PLC_PORT) });
  await plc.start();
  const env = readEnv();
  const pds = await PDS.create(envToCfg(env), envToSecrets(env));
  await pds.start();
  const stop = async () => {
    await Promise.allSettled([pds.destroy(), plc.destroy()]);
    process.exit(0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
