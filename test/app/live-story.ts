import { expect } from "vitest";
import { shortId } from "../../src/partners/bank/file-bank/ach/credit-of.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { runCommand } from "../harness/command-line.ts";
import { newAddress } from "../harness/evm/sending-chain.ts";
import { closeWindows, EUR_ACCOUNT, type LiveHome, today, USD_ACCOUNT } from "../harness/live.ts";
import { addPaymentDetail, addQuote, addUser } from "../harness/ramp.ts";
import type { TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { good } from "../offramps/story.ts";
import { entry, statement, status, statusReport } from "../partners/bank/report-texts.ts";
import { achReport } from "../partners/bank/sample-ach.ts";

/** Several processes and a chain, on a busy machine. */
const MOVED_MS = 90_000;
/** What the accounts have, in cents, before the story. */
export const OPENING = 10_000_000n;

/** A service in live mode, which a test may end between any two steps. */
export type LiveService = Pick<TestServer, "call" | "url" | "key"> & {
  database: Database;
  /** The settings of commands that are run beside it. */
  environment: Record<string, string>;
  /** What happens between two steps: nothing, or kill -9 and a new start. */
  between(): Promise<void>;
};

type Offramp = { id: string; status: string; status_message: string | null };

/** What a bank has booked, in cents, by account; its statement follows from it. */
type Booked = { account: string; lines: string[]; balance: bigint };

/**
 * The whole service: a deposit on the chain pays offramps by SEPA, SWIFT and ACH, whose files the
 * bank takes; it rejects one, books the others, and returns two of them later, of which one is
 * re-routed and one refunded on the chain; an onramp is paid in and delivered. In the end books,
 * statements and chain agree.
 */
export async function playLiveStory(home: LiveHome, service: LiveService): Promise<void> {
  const server = service as unknown as TestServer;
  const { chain } = home;
  const banks: Record<"eur" | "usd", Booked> = {
    eur: { account: EUR_ACCOUNT.iban, lines: [], balance: OPENING },
    usd: { account: USD_ACCOUNT.number, lines: [], balance: OPENING },
  };
  let references = 0;
  /** The bank moves money and tells it by camt.054. */
  const book = async (
    bank: Booked,
    line: { cents: bigint; credit?: boolean; id?: string; details?: string },
  ) => {
    references += 1;
    const { cents, credit = false, id, details = "" } = line;
    const currency = bank === banks.eur ? "EUR" : "USD";
    const amount = `${cents / 100n}.${String(cents % 100n).padStart(2, "0")}`;
    const reference = `REF${references}`;
    const told = entry({
      ...{ amount, credit, currency, details, reference, day: today() },
      ...(id ? { id } : {}),
    });
    bank.lines.push(told);
    bank.balance += credit ? cents : -cents;
    const { account } = bank;
    await home.receiveFile(statement([told], { account, id: `N${references}`, type: "54" }));
  };

  expect(
    (await command(service, "reconcile", "--chain", "--book", "--reason", "funded")).code,
  ).toBe(0);
  const mined = await chain.mined();
  await service.between();

  // A user with accounts on three rails, and offramps over each of them.
  const user_id = await addUser(server);
  const path = `/users/${user_id}`;
  const details = {
    sepa: await addPaymentDetail(server, user_id, "eur"),
    swift: await addPaymentDetail(server, user_id, "eur_swift"),
    ach: await addPaymentDetail(server, user_id, "usd"),
    other: await addPaymentDetail(server, user_id, "eur", { iban: "FR1420041010050500013M02606" }),
  };
  const submitted_url = await uploadDocument(service, user_id);
  const quote_id = await addQuote(server, user_id);
  const item = (payment_detail_id: string, amount: number, currency: string) => ({
    ...{ payment_detail_id, destination_amount: amount, destination_currency: currency },
    supporting_document_attributes: { submitted_url },
  });
  const offramps = [
    item(details.sepa, 100, "eur"),
    item(details.sepa, 200, "eur"),
    { ...item(details.swift, 300, "eur"), rails: "swift" },
    item(details.ach, 400, "usd"),
  ];
  const created = good(
    await service.call("POST", `${path}/quotes/${quote_id}/offramps`, { offramps }),
  );
  const [returned, rejected, swift, ach] = created.offramps as [Offramp, Offramp, Offramp, Offramp];
  const show = async ({ id }: Offramp): Promise<Offramp> =>
    good(await service.call("GET", `${path}/offramps/${id}`)).offramp;
  const reach = (offramp: Offramp, wanted: string) =>
    waitFor(async () => {
      const one = await show(offramp);
      return one.status === wanted && one;
    }, MOVED_MS).catch(async (error: unknown) => {
      throw new Error(`not ${wanted}: ${JSON.stringify(await show(offramp))}`, { cause: error });
    });
  const idOf = ({ id }: Offramp, attempt = 1) =>
    `${id.replaceAll("-", "")}${String(attempt).padStart(3, "0")}`;
  await service.between();

  // The deposit on the chain: what the quote costs, and thirty tokens more.
  const { quote, deposit_address } = good(await service.call("GET", `${path}/quotes/${quote_id}`));
  const needed = BigInt(Math.round(quote.deposit_token_amount * 1e6));
  const tx_id = await chain.usdc.transfer(deposit_address.address, needed + 30_000_000n);
  await service.between();
  good(
    await service.call("POST", `${path}/quotes/${quote_id}/execute`, {
      quote: { crypto_transfer: { tx_id, blockchain: "polygon", network: "31337" } },
    }),
  );
  await service.between();
  const all = [returned, rejected, swift, ach];
  for (const offramp of all) await reach(offramp, "sending_fiat");
  await waitFor(async () => (await countPayments(service)) === all.length, MOVED_MS);
  await service.between();

  // The windows close: one file each for SEPA, SWIFT and ACH.
  await closeWindows(service.database);
  const files = await waitFor(async () => {
    const sent = await home.sentFiles();
    return sent.length === 3 && sent;
  }, MOVED_MS);
  const kinds = files.map(({ name }) => name.split("-")[0]);
  expect(kinds).toEqual(["ach", "sepa", "swift"]);
  await service.between();

  // The bank accepts, rejects one, and books the others.
  const message_id = /<MsgId>(\w+)</.exec(files[1]!.text)![1]!;
  await home.receiveFile(
    statusReport(message_id, status(idOf(returned), "ACSP") + status(idOf(rejected), "RJCT")),
  );
  await reach(rejected, "failed");
  await service.between();
  await book(banks.eur, { cents: 10_000n, id: idOf(returned) });
  await book(banks.eur, { cents: 30_000n, id: idOf(swift) });
  const short = shortId(idOf(ach));
  await book(banks.usd, {
    cents: 40_000n,
    details: `<RmtInf><Ustrd>ACH ${short}</Ustrd></RmtInf>`,
  });
  for (const offramp of [returned, swift, ach]) await reach(offramp, "fiat_sent");
  await service.between();

  // Later, two come back: one in a camt.054, one in a NACHA file and on the account.
  await book(banks.eur, {
    ...{ cents: 10_000n, credit: true, id: idOf(returned) },
    details: "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>",
  });
  expect((await reach(returned, "bounced")).status_message).toContain("the account is closed");
  await service.between();
  const line = files[0]!.text.split("\n").find((one) => one.includes(short))!;
  const original = { id: short, original_trace: line.slice(79, 94), account: "000123456789" };
  await home.receiveFile(
    achReport("PPD", [{ ...original, amount: 40_000n, code: "R03" }]),
    "returns.ach",
  );
  await reach(ach, "bounced");
  await book(banks.usd, {
    ...{ cents: 40_000n, credit: true },
    details: `<RmtInf><Ustrd>RETURN ${short}</Ustrd></RmtInf>`,
  });
  await service.between();

  // The first goes to another account; the second is given back, and refunded on the chain.
  good(
    await service.call("POST", `${path}/offramps/${returned.id}/reroute`, {
      offramp: { payment_detail_id: details.other },
    }),
  );
  await service.between();
  await waitFor(async () => (await countPayments(service)) === all.length + 1, MOVED_MS);
  await closeWindows(service.database);
  await waitFor(async () => (await home.sentFiles()).length === 4, MOVED_MS);
  await service.between();
  await book(banks.eur, { cents: 10_000n, id: idOf(returned, 2) });
  await reach(returned, "fiat_sent");
  good(await service.call("POST", `${path}/offramps/${ach.id}/refund`));
  await reach(ach, "failed");
  await service.between();
  const { balances } = good(await service.call("GET", `${path}/balances`));
  const owed = balances.find((one: { chain: string }) => one.chain === "polygon").amount;
  const before = await chain.balanceOf(chain.node.account);
  const refund = { token: "usdc", chain: "polygon", amount: owed, address: chain.node.account };
  good(await service.call("POST", `${path}/refunds`, { refund }));
  await service.between();
  await waitFor(async () => {
    const { refunds } = good(await service.call("GET", `${path}/refunds`));
    return refunds[0].status === "sent";
  }, MOVED_MS);
  const back = (await chain.balanceOf(chain.node.account)) - before;
  expect(back).toBe(BigInt(Math.round(owed * 1e6)));
  await service.between();

  // An onramp: a bank transfer in, tokens out.
  const destination_address = newAddress();
  const { onramp } = good(
    await service.call("POST", `${path}/onramps`, {
      onramp: {
        ...{ destination_amount: 50, crypto_currency: "usdc", crypto_rails: "polygon" },
        ...{ destination_address, fiat_currency: "eur", fiat_rails: "local" },
      },
    }),
  );
  await service.between();
  const code = onramp.deposit_instructions.deposit_message;
  await book(banks.eur, {
    ...{ cents: BigInt(Math.round(onramp.deposit_amount * 100)), credit: true },
    details:
      "<RltdPties><Dbtr><Pty><Nm>Maria Sample</Nm></Pty></Dbtr></RltdPties>" +
      `<RmtInf><Ustrd>${code}</Ustrd></RmtInf>`,
  });
  await service.between();
  await waitFor(async () => {
    const shown = good(await service.call("GET", `${path}/onramps/${onramp.id}`)).onramp;
    return shown.status === "crypto_sent";
  }, MOVED_MS);
  expect(await chain.balanceOf(destination_address)).toBe(50_000_000n);
  await service.between();

  // Four files and two transactions: nothing has left twice.
  expect(await home.sentFiles()).toHaveLength(4);
  expect(await chain.mined()).toBe(mined + 2);

  // The statements of the day, with balances.
  for (const bank of Object.values(banks)) {
    await home.receiveFile(dayStatement(bank, bank === banks.eur ? "EUR" : "USD"));
  }
  await waitFor(async () => (await countOf(service, "bank_statements")) >= 2, MOVED_MS);
  for (const { name } of [EUR_ACCOUNT, USD_ACCOUNT]) {
    const opened = await command(service, "treasury", "open", name, "--reason", "first statement");
    expect(opened, opened.stderr).toMatchObject({ code: 0 });
  }
  await waitFor(async () => (await countMoving(service)) === 0, MOVED_MS);
  await chain.node.mine();
  await service.between();
  const verified = await command(service, "verify");
  expect(verified.stdout + verified.stderr).toMatch(/^Verified \d+ accounts?: no problems found/);
  let told = "";
  await waitFor(async () => {
    const reconciled = await command(service, "reconcile");
    told = reconciled.stdout + reconciled.stderr;
    return reconciled.code === 0;
  }, MOVED_MS).catch(() => expect(told).toBe("nothing found"));
}

function command({ environment }: LiveService, ...args: string[]) {
  return runCommand(args, environment);
}

const countPayments = (service: LiveService) => countOf(service, "bank_payments");

async function countOf({ database }: LiveService, table: string): Promise<number> {
  return (await database.query(`select from ${table}`)).length;
}

/** Transactions that are not over, or not booked. */
async function countMoving({ database }: LiveService): Promise<number> {
  const rows = await database.query(
    "select from evm_sends where gas_cost is null or not is_gas_booked",
  );
  return rows.length;
}

async function uploadDocument({ url, key }: LiveService, user_id: string): Promise<string> {
  const body = new FormData();
  const bytes = new Blob(["%PDF-1.7 an invented invoice"], { type: "application/pdf" });
  body.set("file", bytes, "invoice.pdf");
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${url}/users/${user_id}/documents`, {
    method: "POST",
    headers,
    body,
  });
  expect(answer.status).toBe(200);
  const { document } = (await answer.json()) as { document: { submitted_url: string } };
  return document.submitted_url;
}

/** All lines of the day between two balances. */
export function dayStatement(
  { account, lines, balance }: Booked,
  currency: string,
  day = today(),
): string {
  const at = (type: string, cents: bigint) =>
    `<Bal><Tp><CdOrPrtry><Cd>${type}</Cd></CdOrPrtry></Tp>` +
    `<Amt Ccy="${currency}">${cents / 100n}.${String(cents % 100n).padStart(2, "0")}</Amt>` +
    `<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>${day}</Dt></Dt></Bal>`;
  const balances = at("OPBD", OPENING) + at("CLBD", balance);
  return statement([balances, ...lines], { account, id: `D-${currency}` });
}
