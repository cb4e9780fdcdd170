import { chmodSync, statSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import type { Command } from "commander";
import { openKeystoreSigner } from "../partners/chain/evm/signer/open.ts";
import { createSignerServer } from "../partners/chain/evm/signer/signer-server.ts";
import { type Config, readSettings } from "../platform/config/config.ts";
import { unknownSettings } from "../platform/config/unknown-settings.ts";
import { StartupError } from "../platform/startup-error.ts";
import { type JsonOption, print } from "./output.ts";

/** The worker may run as another user of the same group. */
const GROUP_MAY_CONNECT = 0o660;

export function addSignerCommand(program: Command): void {
  program
    .command("signer")
    .description("run the signer of real chains; the keys are in this process only")
    .action(async (options: JsonOption) => {
      for (const why of unknownSettings(process.env)) console.error(`sliproad: ${why}.`);
      await serve(readSettings(process.env), options);
    });
}

async function serve(config: Config, options: JsonOption): Promise<void> {
  const { signer_address: address, signer_token: token } = config;
  if (address === undefined) {
    throw new StartupError("SLIPROAD_SIGNER_ADDRESS must be set: it says where to listen.");
  }
  if (token === undefined) throw new StartupError("SLIPROAD_SIGNER_TOKEN must be set.");
  const signer = await openKeystoreSigner(config);
  // To stderr: stdout has the one document of --json.
  const server = createSignerServer(signer, token, (line) =>
    console.error(JSON.stringify({ time: new Date().toISOString(), ...line })),
  );
  try {
    const stopped = new Promise<void>((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
        process.once(signal, () => resolve());
      }
    });
    await listen(server, address);
    const { treasury, wallet } = signer;
    print(options, { signer: { address, treasury, wallet } }, [
      `The signer listens on ${address}.`,
      `Treasury ${treasury}, deposit wallet ${wallet}.`,
    ]);
    await stopped;
  } finally {
    await server.close();
    await signer.close();
  }
}

async function listen(
  server: ReturnType<typeof createSignerServer>,
  address: string,
): Promise<void> {
  try {
    if (address.startsWith("/")) {
      await removeStaleSocket(address);
      await server.listen({ path: address });
      chmodSync(address, GROUP_MAY_CONNECT);
      return;
    }
    const { hostname, port } = new URL(`http://${address}`);
    await server.listen({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new StartupError(`SLIPROAD_SIGNER_ADDRESS ${address} cannot be used (${code}).`);
  }
}

/** A process that was killed leaves its socket; nobody listens on it. */
async function removeStaleSocket(path: string): Promise<void> {
  if (!statSync(path, { throwIfNoEntry: false })?.isSocket()) return;
  const code = await new Promise<string | undefined>((resolve) => {
    const socket = connect(path, () => resolve(undefined));
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    socket.once("close", () => socket.destroy());
    socket.once("connect", () => socket.destroy());
  });
  if (code === "ECONNREFUSED") unlinkSync(path);
}
