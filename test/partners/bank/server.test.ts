import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freezeAccount } from "../../../src/accounts/freeze-account.ts";
import { checkBanks } from "../../../src/cli/doctor/check-banks.ts";
import { countOpenItems } from "../../../src/partners/bank/file-bank/open-item-store.ts";
import { listSetAside } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import { DAY_MS } from "../../../src/platform/durations.ts";
import { runCommand } from "../../harness/command-line.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { advance, findFault, good, openStory, type Story, settle } from "../../offramps/story.ts";
import { openOnramp } from "../../onramps/story.ts";
import { banksFile, SEPA_ACCOUNT } from "./banks-file.ts";

let server: TestServer;
let folder: string;
let inbox: string;
let outbox: string;
let reports = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sliproad-banks-"));
  [inbox, outbox] = [join(folder, "in"), join(folder, "out")];
  await mkdir(inbox);
  await mkdir(outbox);
  const banks_file = join(folder, "banks.json");
  await writeFile(banks_file, banksFile(inbox, { "main-eur": { ...SEPA_ACCOUNT, outbox } }));
  const environment = { SLIPROAD_BANKS_FILE: banks_file, SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** A file of the bank that it finished some time ago; its name. */
async function receive(text: string): Promise<string> {
  reports += 1;
  const [path, name] = [join(inbox, `.${reports}`), `report-${reports}.xml`];
  await writeFile(path, text);
  await utimes(path, new Date(0), new Date(0));
  await rename(path, join(inbox, name));
  return name;
}

/** A file that the service could not read. */
async function receiveBroken(): Promise<string> {
  const name = await receive("<Document>");
  await waitFor(async () => listSetAside(inbox).includes(name));
  return name;
}

function statement(entry: string): string {
  const { iban } = SEPA_ACCOUNT;
  return (
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>` +
    `<Id>S${reports}</Id><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>${entry}` +
    `</Stmt></BkToCstmrStmt></Document>`
  );
}

function line(sign: "CRDT" | "DBIT", amount: string, details: string): string {
  return (
    `<Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>${sign}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>` +
    `<BookgDt><Dt>2026-11-17</Dt></BookgDt><NtryDtls><TxDtls>${details}</TxDtls></NtryDtls></Ntry>`
  );
}

const reference = (id: string) => `<Refs><EndToEndId>${id}</EndToEndId></Refs>`;

it("a payout goes out by file, is sent when the statement says so, and bounces when it returns", async () => {
  const story = await openStory(server, [{ amount: 200 }]);
  good(await story.execute());
  await story.waitForStatus("sending_fiat");
  await settle(server);
  // Over any weekend and holiday.
  await advance(server, 5 * DAY_MS);
  const [name] = await waitFor(async () => {
    const names = await readdir(outbox);
    return names.length > 0 && names;
  });
  const xml = await readFile(join(outbox, name!), "utf8");
  const id = /<EndToEndId>(\w+)</.exec(xml)![1]!;
  expect(id).toBe(`${story.offramp_id.replaceAll("-", "")}001`);
  expect(xml).toContain('<InstdAmt Ccy="EUR">200.00</InstdAmt>');
  expect((await story.show()).status).toBe("sending_fiat");

  await receive(statement(line("DBIT", "200.00", reference(id))));
  const sent = await story.waitForStatus("fiat_sent");
  expect(sent.payout_reference).toEqual({ end_to_end_id: id, trace_number: null, uetr: null });

  const why = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>";
  await receive(statement(line("CRDT", "200.00", reference(id) + why)));
  const back = await story.waitForStatus("bounced");
  expect(back.status_message).toContain("because the account is closed");
  await settle(server);
  expect(await findFault(server)).toBeNull();
});

async function freezeOperator(is_frozen: boolean): Promise<void> {
  const { database, clock, first_start } = server.core;
  const { id: operator_id } = first_start.operator;
  const by = { operator_id, actor: "command line", reason: "test" } as const;
  await database.transaction(async (tx) => {
    freezeAccount(tx, operator_id, is_frozen, by, clock.now());
  });
}

it("a freeze of the user or the account keeps a payout out of the file, until it ends", async () => {
  const before = (await readdir(outbox)).length;
  const stories = [await openStory(server, [{ amount: 210 }]), await openStory(server)];
  for (const story of stories) {
    good(await story.execute());
    await story.waitForStatus("sending_fiat");
  }
  await settle(server);
  const [frozen, free] = stories;
  const freeze = (verb: string) =>
    server.call("POST", `/users/${frozen!.user_id}/${verb}`, { reason: "test" });
  good(await freeze("freeze"));
  await advance(server, 5 * DAY_MS);
  const written = async () => {
    const names = (await readdir(outbox)).filter((name) => !name.startsWith("."));
    const files = names.map((name) => readFile(join(outbox, name), "utf8"));
    return (await Promise.all(files)).join("");
  };
  const idOf = (story: Story) => `${story.offramp_id.replaceAll("-", "")}001`;
  await waitFor(async () => (await written()).includes(idOf(free!)));
  expect(await written()).not.toContain(idOf(frozen!));
  await freezeOperator(true);
  good(await freeze("unfreeze"));
  await advance(server, 5 * DAY_MS);
  await settle(server);
  expect(await written()).not.toContain(idOf(frozen!));
  await freezeOperator(false);
  await advance(server, 5 * DAY_MS);
  await waitFor(async () => (await written()).includes(idOf(frozen!)));
  expect((await readdir(outbox)).length).toBe(before + 2);
  expect((await written()).split(idOf(frozen!)).length - 1).toBe(2);
});

it("an onramp names our account, and a deposit with its code in the statement pays it", async () => {
  const story = await openOnramp(server, { fiat_currency: "eur", fiat_rails: "local" });
  expect(story.created.deposit_instructions).toMatchObject({
    bank_iban: SEPA_ACCOUNT.iban,
    bank_beneficiary_name: SEPA_ACCOUNT.holder,
    bank_name: "Sample Bank",
  });
  const text = `<RmtInf><Ustrd>paid ${story.code}</Ustrd></RmtInf>`;
  const payer = "<RltdPties><Dbtr><Pty><Nm>Maria Sample</Nm></Pty></Dbtr></RltdPties>";
  await receive(statement(line("CRDT", story.amount.toFixed(2), payer + text)));
  await waitFor(async () => (await story.show()).status === "crypto_sent");
  await settle(server);
  expect(await findFault(server)).toBeNull();
});

it("a file of a bank that cannot be read is named by /readyz and doctor", async () => {
  const doctor = () => checkBanks(server.core, join(folder, "banks.json"));
  expect(await doctor()).toEqual({
    ...{ check: "banks", ok: true },
    finding: "main-eur: all files written and read",
  });
  expect(good(await server.call("GET", "/readyz", undefined, { key: null })).status).toBe("ready");
  const name = await receiveBroken();
  await waitFor(async () => {
    const { body } = await server.call("GET", "/readyz", undefined, { key: null });
    return JSON.stringify(body).includes(`1 files of banks could not be read: ${name}.`);
  });
  const { ok, finding } = await doctor();
  expect({ ok, finding }).toEqual({ ok: false, finding: expect.stringContaining(name) });
  await rm(join(inbox, "set-aside", name));
  expect(await doctor()).toMatchObject({ ok: true });
});

/** Each command is a process of its own. */
const COMMANDS_WITHIN_MS = 120_000;

it(
  "sliproad banks lists, shows, settles and retries, and the audit log says who",
  async () => {
    const environment = {
      ...{ DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir },
      SLIPROAD_BANKS_FILE: join(folder, "banks.json"),
    };
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCommand(["banks", ...args, "--json"], environment);
      return { code, stderr, document: stdout === "" ? null : JSON.parse(stdout) };
    };
    const why = ["--reason", "test"];
    const text = "<RmtInf><Ustrd>Fee of Jane Sender</Ustrd></RmtInf>";
    const name = await receiveBroken();
    await receive(statement(line("DBIT", "7.25", text)));
    await waitFor(async () => (await countOpenItems(server.core.database)).lines > 0);
    const { document: listed } = await run("list");
    expect(listed.files).toContainEqual(expect.objectContaining({ name }));
    const fee = listed.lines.find(({ amount }: { amount: string }) => amount === "7.25");
    expect(fee).toMatchObject({ kind: "booked", currency: "eur" });
    expect(JSON.stringify(listed)).not.toContain("Jane");
    const { id } = fee;
    const { document: shown } = await run("show", id, ...why);
    expect(shown.details.text).toContain("Fee of Jane Sender");
    expect((await run("settle", id, ...why)).document).toEqual({
      ...{ id, payments: 0, proposal: null },
    });
    expect(await run("settle", id, ...why)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining("no such open item") },
    });
    const retry = () => run("retry", name, ...why);
    expect((await retry()).stderr).toContain("still cannot be read");
    await writeFile(join(inbox, "set-aside", name), statement(""));
    expect((await retry()).document).toEqual({ name });
    const { document: left } = await run("list");
    expect(JSON.stringify(left)).not.toContain(name);
    expect(JSON.stringify(left)).not.toContain(`"${id}"`);
    const { body } = await server.call("GET", "/readyz", undefined, { key: null });
    expect(JSON.stringify(body)).not.toContain(name);
    const actions = await server.core.database.query<{ action: string }>(
      "select action from audit_entries where action like 'bank_%' order by id",
    );
    expect(actions.map(({ action }) => action)).toEqual([
      ...["bank_item.read", "bank_item.settle", "bank_file.retry", "bank_file.retry"],
    ]);
  },
  COMMANDS_WITHIN_MS,
);
