import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LocalSigner } from "../../../src/partners/chain/evm/signer/local-signer.ts";
import { openConfiguredSigner } from "../../../src/partners/chain/evm/signer/open.ts";
import type { Signer, SignRequest } from "../../../src/partners/chain/evm/signer/port.ts";
import { openRemoteSigner } from "../../../src/partners/chain/evm/signer/remote-signer.ts";
import { requestText } from "../../../src/partners/chain/evm/signer/request-text.ts";
import { createSignerServer } from "../../../src/partners/chain/evm/signer/signer-server.ts";
import { readConfig } from "../../../src/platform/config/config.ts";
import { type Running, runCommand, startCommand } from "../../harness/command-line.ts";
import { TEST_WORDS } from "../../harness/evm/chains-file.ts";
import {
  openTestSigner,
  signerFile,
  TEST_PASSPHRASE,
  TEST_TREASURY,
} from "../../harness/evm/signer.ts";
import { waitFor } from "../../harness/wait-for.ts";

const USDC = "0x00000000000000000000000000000000000000c1";
const PAYEE = "0x00000000000000000000000000000000000000b0";
const PROGRAM = join(import.meta.dirname, "../../../bin/sliproad");
const TOKEN = "a-token-of-the-tests-0123456789abcdef";
const TIMEOUT_MS = 20_000;
/** Long enough for the answers that do come. */
const SHORT_MS = 3_000;

const pay = (amount: bigint, nonce: number): SignRequest => ({
  reference: `refund:account:${nonce}`,
  chain_id: 31_337,
  key: { kind: "treasury" },
  nonce,
  action: { kind: "token_transfer", contract: USDC, to: PAYEE, amount },
  ...{ gas: 65_000n, max_fee: 3_000_000_000n, priority_fee: 1_000_000_000n },
});

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "sliproad-remote-"));
});
afterAll(() => rm(directory, { recursive: true }));

describe("a signer in another process", () => {
  let local: LocalSigner;
  let remote: Signer;
  let server: ReturnType<typeof createSignerServer>;
  const log: Record<string, unknown>[] = [];

  beforeAll(async () => {
    local = await openTestSigner([USDC]);
    server = createSignerServer(local, TOKEN, (line) => log.push(line));
    const address = join(directory, "in-process.sock");
    await server.listen({ path: address });
    remote = await openRemoteSigner({ address, token: TOKEN, timeout_ms: TIMEOUT_MS });
  });
  afterAll(async () => {
    await remote.close();
    await server.close();
    await local.close();
  });

  it("gives the bytes of the same signer in this process, and logs what it signed", async () => {
    expect(remote.treasury).toBe(local.treasury);
    expect(remote.wallet).toBe(local.wallet);
    expect(await remote.sign(pay(1n, 0))).toEqual(await local.sign(pay(1n, 0)));
    expect(log.at(-1)!.signed).toContain(PAYEE);
    const address = "0x9858effd232b4033e47d90003d41ec34ecaeda94";
    const sweep: SignRequest = {
      ...pay(1n, 1),
      action: {
        ...{ kind: "sweep_with_authorization", contract: USDC, address_index: 0, address },
        ...{ amount: 1n, domain_separator: `0x${"01".repeat(32)}`, valid_before: 2_000_000_000 },
        authorization_nonce: `0x${"02".repeat(32)}`,
      },
    };
    expect(await remote.sign(sweep)).toEqual(await local.sign(sweep));
  });

  it("refuses what the signer refuses, with its reason", async () => {
    const refused = remote.sign(pay(2n, 0));
    await expect(refused).rejects.toMatchObject({ name: "SigningRefused" });
    await expect(refused).rejects.toThrow("already used for another action");
    const later = remote.sign(pay(999_999_999_999n + 1n, 5));
    await expect(later).rejects.toThrow("within 24 hours");
    expect(log.at(-1)).toHaveProperty("refused");
  });

  it("answers nobody without the token", async () => {
    const address = join(directory, "in-process.sock");
    const stranger = openRemoteSigner({ address, token: `${TOKEN}x`, timeout_ms: TIMEOUT_MS });
    await expect(stranger).rejects.toThrow("answered 401: The token differs");
    const { statusCode } = await server.inject({ method: "POST", url: "/sign", payload: "{}" });
    expect(statusCode).toBe(401);
  });
});

describe("a signer that fails", () => {
  let server: Server;
  let address: string;
  let local: LocalSigner;
  /** What is answered to /sign; null: nothing. */
  let answer: object | null = null;

  beforeAll(async () => {
    local = await openTestSigner([USDC]);
    const { treasury, wallet } = local;
    server = createServer((request, response) => {
      if (request.url === "/signer") response.end(JSON.stringify({ treasury, wallet }));
      else if (answer) response.end(JSON.stringify(answer));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    await local.close();
  });

  it("to answer in time, or at all, leaves the outcome unknown", async () => {
    const remote = await openRemoteSigner({ address, token: TOKEN, timeout_ms: SHORT_MS });
    const asked = remote.sign(pay(1n, 0));
    await expect(asked).rejects.toMatchObject({ name: "SignerUnavailable" });
    await expect(asked).rejects.toThrow("no answer in time");
    await remote.close();
    const nobody = { address: join(directory, "nobody.sock"), token: TOKEN, timeout_ms: SHORT_MS };
    await expect(openRemoteSigner(nobody)).rejects.toMatchObject({ name: "SignerUnavailable" });
  });

  it("to sign what was asked for is not believed", async () => {
    const remote = await openRemoteSigner({ address, token: TOKEN, timeout_ms: TIMEOUT_MS });
    const other = local.signatures(requestText(pay(2n, 0)));
    answer = { transaction: Buffer.from(other.transaction).toString("hex"), authorization: null };
    await expect(remote.sign(pay(1n, 0))).rejects.toThrow("the signature is not that of 0x7883");
    expect((await remote.sign(pay(2n, 0))).from).toBe(local.treasury);
    answer = { transaction: "00", authorization: null };
    await expect(remote.sign(pay(1n, 0))).rejects.toMatchObject({ name: "SignerUnavailable" });
    await remote.close();
  });
});

describe("sliproad signer", () => {
  const environment = () => ({
    SLIPROAD_SIGNER_FILE: join(directory, "signer.json"),
    SLIPROAD_SIGNER_PASSPHRASE_FILE: join(directory, "passphrase"),
    SLIPROAD_SIGNER_ADDRESS: join(directory, "signer.sock"),
    SLIPROAD_SIGNER_TOKEN: TOKEN,
  });
  const started = async (): Promise<Running> => {
    const running = startCommand(["signer", "--json"], environment());
    await waitFor(async () => {
      if (running.child.exitCode !== null) throw new Error(running.printed().stderr);
      return running.printed().stdout.includes('"treasury"');
    }, 60_000);
    return running;
  };
  const open = (settings: Record<string, string>) => openConfiguredSigner(readConfig(settings));
  /** With the settings of a worker, which have no key. */
  const connect = () => {
    const { SLIPROAD_SIGNER_ADDRESS, SLIPROAD_SIGNER_TOKEN } = environment();
    const SLIPROAD_SIGNER_TIMEOUT_SECONDS = "20";
    return open({
      ...{ SLIPROAD_SIGNER_ADDRESS, SLIPROAD_SIGNER_TOKEN, SLIPROAD_SIGNER_TIMEOUT_SECONDS },
    });
  };

  it("keeps its promise of a nonce through kill -9, and is alone with its journal", async () => {
    await writeFile(join(directory, "passphrase"), `${TEST_PASSPHRASE}\n`);
    const keystore = join(directory, "keystore.json");
    const created = await runCommand(
      ["wallet", "new", "--keystore", keystore, "--json"],
      environment(),
    );
    const { words, treasury } = JSON.parse(created.stdout);
    expect(words).toHaveLength(24);
    expect((await stat(keystore)).mode & 0o777).toBe(0o600);
    expect(await readFile(keystore, "utf8")).not.toContain(words[0]);
    await writeFile(join(directory, "signer.json"), signerFile([USDC]));

    const first = await started();
    let remote = await connect();
    expect(remote.treasury).toBe(treasury);
    const signed = await remote.sign(pay(1n, 0));
    const second = await runCommand(["signer"], {
      ...environment(),
      SLIPROAD_SIGNER_ADDRESS: "127.0.0.1:0",
    });
    expect(second.code).not.toBe(0);
    expect(second.stderr).toContain("is used by another signer; only one may use it.");
    first.child.kill("SIGKILL");
    await first.ended;
    await expect(remote.sign(pay(1n, 0))).rejects.toMatchObject({ name: "SignerUnavailable" });
    await remote.close();

    const again = await started();
    remote = await connect();
    expect(await remote.sign(pay(1n, 0))).toEqual(signed);
    await expect(remote.sign(pay(2n, 0))).rejects.toThrow("already used for another action");
    await remote.close();
    again.child.kill("SIGTERM");
    expect((await again.ended).code).toBe(0);
    await expect(connect()).rejects.toMatchObject({ name: "SignerUnavailable" });
  }, 180_000);

  it("has the same key again from its words, and keeps the files that are there", async () => {
    const keystore = join(directory, "restored.json");
    const restore = () =>
      spawnSync(
        process.execPath,
        [PROGRAM, "wallet", "restore", "--keystore", keystore, "--json"],
        {
          input: TEST_WORDS.toUpperCase(),
          env: { PATH: process.env.PATH, ...environment() },
          encoding: "utf8",
        },
      );
    expect(JSON.parse(restore().stdout)).toMatchObject({ treasury: TEST_TREASURY, keystore });
    const text = await readFile(keystore, "utf8");
    expect(text).toContain(TEST_TREASURY);
    expect(restore().stdout).toContain("restored.json.journal cannot be created (EEXIST)");
    expect(await readFile(keystore, "utf8")).toBe(text);
  }, 60_000);

  it("says which setting is missing or wrong", async () => {
    const { SLIPROAD_SIGNER_ADDRESS, SLIPROAD_SIGNER_TOKEN: _, ...own } = environment();
    const missing = await runCommand(["signer"], { ...own, SLIPROAD_SIGNER_ADDRESS });
    expect(missing.stderr).toContain("SLIPROAD_SIGNER_TOKEN must be set.");
    await expect(open(environment())).rejects.toThrow("are both set");
    await expect(open({ SLIPROAD_SIGNER_ADDRESS })).rejects.toThrow("TOKEN must be set");
    await expect(open({})).rejects.toThrow("SLIPROAD_SIGNER_FILE is not set");
    await writeFile(join(directory, "passphrase"), "another passphrase");
    await expect(open(own)).rejects.toThrow("the passphrase is wrong, or the file was changed.");
    const outside = { ...environment(), SLIPROAD_SIGNER_ADDRESS: "10.0.0.1:4002" };
    expect(() => readConfig(outside)).toThrow("or a port of this machine");
  }, 60_000);
});
