import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isSliproadError, type Offramp, type Sliproad } from "../../../sdk/src/index.ts";
import { SAMPLE_PDF } from "../../partners/documents/sample-pdf.ts";
import { SAMPLE_PAYMENT_DETAIL } from "../../payment-details/sample.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { onInterruption } from "../interruption.ts";
import { openApp, quietApp, quietAppsAt } from "./app.ts";
import type { PostedEntry } from "./ledger.ts";
import type { DemoReceiver, ReceivedEvent } from "./receiver.ts";

/** What a step found out, in the words of the API. */
export type Facts = Record<string, unknown>;

/** Runs one step under a title, and prints what was sent, received and found. */
export type RunStep = <Result>(
  title: string,
  play: () => Promise<{ facts: Facts; result: Result }>,
) => Promise<Result>;

type StoryDeps = {
  sliproad: Sliproad;
  receiver: DemoReceiver;
  runStep: RunStep;
  /** Null without access to the service's database. */
  readLedger: ReadLedger | null;
};

export type ReadLedger = (payout: {
  account_id: string;
  user_id: string;
  chain: string;
  offramp_ids: string[];
  currency: string;
}) => Promise<PostedEntry[]>;

export type Proof = {
  offramps: { id: string; status: string; end_to_end_id: string | null }[];
  webhook: { webhook_id: string; signature: string; verified: true };
  ledger: PostedEntry[] | null;
};

type Batch = { user_id: string; quote_id: string; offramps: Offramp[] };

const CURRENCY = SAMPLE_PAYMENT_DETAIL.currency;
const CHAIN = "polygon";
const WAIT_MAX_MS = 15_000;
const ASK_MS = 100;

/** A whole payout, from an unknown user to money in the bank and its proof. */
export async function playPayout(deps: StoryDeps): Promise<Proof> {
  const account_id = await meetService(deps);
  const removeCleanUp = onInterruption(() => quietAppsAt(deps.sliproad, deps.receiver.url));
  try {
    return await playWithReceiver(deps, account_id);
  } finally {
    removeCleanUp();
  }
}

async function playWithReceiver(deps: StoryDeps, account_id: string): Promise<Proof> {
  const app_id = await openWebhooks(deps);
  try {
    const user_id = await createUser(deps);
    const detail = await createBankAccount(deps, user_id);
    const batch = await createBatch(deps, user_id, detail.id);
    await attachDocument(deps, batch);
    if (!detail.is_approved) {
      await expectRefusal(deps, batch);
      await approveKyc(deps, user_id);
    }
    await execute(deps, batch);
    const sent = await waitForFiat(deps, batch);
    const webhook = await waitForWebhook(deps, batch);
    const ledger = await showLedger(deps, account_id, batch);
    return { offramps: sent.map(proofOf), webhook: signatureOf(webhook), ledger };
  } finally {
    await quietApp(deps.sliproad, app_id).catch(() => {});
  }
}

function meetService({ sliproad, runStep }: StoryDeps): Promise<string> {
  return runStep("The service", async () => {
    const { account } = await sliproad.me.show();
    const { now } = await sliproad.sandbox.showClock();
    return { facts: { account: account.name, "sandbox time": now }, result: account.id };
  });
}

function openWebhooks({ sliproad, receiver, runStep }: StoryDeps): Promise<string> {
  return runStep("Start a webhook receiver on loopback", async () => {
    const app = await openApp(sliproad, receiver);
    if (app.webhook.state !== "active") {
      const why = app.webhook.reason ?? `its endpoint is ${app.webhook.state}`;
      throw new StartupError(`The demo's application receives no webhooks: ${why}`);
    }
    const { url, state } = app.webhook;
    return { facts: { app: app.id, url, state }, result: app.id };
  });
}

async function createUser({ sliproad, runStep }: StoryDeps): Promise<string> {
  const user_id = await runStep("Create the user who pays", async () => {
    const user = await sliproad.users.create({
      beneficiary_type: "individual",
      email: `demo-${randomBytes(6).toString("hex")}@example.com`,
      first_name: "Ana",
      last_name: "Sample",
    });
    return { facts: { user: user.id, kyc: user.kyc.general.status }, result: user.id };
  });
  await runStep(
    "Create a KYC session: the page on which the user verifies their identity",
    async () => {
      const { url } = await sliproad.kycs.create(user_id);
      return { facts: { url, "open it": "in a browser to see the page" }, result: null };
    },
  );
  return user_id;
}

/** If KYC is already required here, shows the refusal and approves the user at once. */
async function createBankAccount(deps: StoryDeps, user_id: string) {
  const create = () => deps.sliproad.paymentDetails.create(user_id, SAMPLE_PAYMENT_DETAIL);
  const title = "Create the payment detail: the bank account to pay";
  const first = await deps.runStep(title, async () => {
    const detail = await nullIfNotApproved(create);
    if (!detail) return { facts: { refused: "KYC is required first" }, result: null };
    return { facts: { payment_detail: detail.id, status: detail.status }, result: detail };
  });
  if (first) return { id: first.id, is_approved: false };
  await approveKyc(deps, user_id);
  return deps.runStep(`${title}, once more`, async () => {
    const { id, status } = await create();
    return { facts: { payment_detail: id, status }, result: { id, is_approved: true } };
  });
}

async function createBatch(deps: StoryDeps, user_id: string, detail_id: string): Promise<Batch> {
  const { sliproad, runStep } = deps;
  const quote_id = await runStep("A quote", async () => {
    const wanted = { deposit_token: "usdc", deposit_token_chain: CHAIN };
    const { quote, deposit_address } = await sliproad.quotes.create(user_id, wanted);
    const expires_at = new Date(quote.expiry * 1000).toISOString();
    const facts = { quote: quote.id, expires_at, deposit_address: deposit_address.address };
    return { facts, result: quote.id };
  });
  return runStep("A batch of two payouts", async () => {
    const item = { payment_detail_id: detail_id, destination_currency: CURRENCY };
    const offramps = await sliproad.offramps.create(user_id, quote_id, [
      { ...item, destination_amount: "1000" },
      {
        ...item,
        destination_amount: "250.50",
        supporting_document_attributes: { submitted_url: "https://files.test/invoice.pdf" },
      },
    ]);
    const facts = {
      offramps: offramps.map(({ id }) => id),
      status: offramps.map(({ status }) => status),
    };
    return { facts, result: { user_id, quote_id, offramps } };
  });
}

function attachDocument({ sliproad, runStep }: StoryDeps, { offramps }: Batch): Promise<void> {
  return runStep("Upload the supporting document of the first payout", async () => {
    const file = new File([new Uint8Array(SAMPLE_PDF)], "invoice.pdf");
    const { message } = await sliproad.offramps.documents.upload(offramps[0]!.id, file);
    return { facts: { message }, result: undefined };
  });
}

function expectRefusal(deps: StoryDeps, batch: Batch): Promise<void> {
  return deps.runStep("Execute before the user is approved: refused, as expected", async () => {
    const executed = await nullIfNotApproved(() => sendExecute(deps, batch));
    if (!executed) return { facts: { error_code: NOT_APPROVED }, result: undefined };
    throw new StartupError(
      "The service paid for a user without KYC: KYC enforcement is off; unset " +
        "SLIPROAD_KYC_ENFORCEMENT and start it again.",
    );
  });
}

function approveKyc({ sliproad, runStep }: StoryDeps, user_id: string): Promise<void> {
  return runStep("The sandbox approves the user", async () => {
    const { kyc } = await sliproad.sandbox.setKycStatus(user_id, "approved");
    return { facts: { kyc: kyc.general.status }, result: undefined };
  });
}

function execute(deps: StoryDeps, batch: Batch): Promise<void> {
  return deps.runStep("Execute the quote: the tokens are sent", async () => {
    const { quote } = await sendExecute(deps, batch);
    const { executed, deposit_token_amount, deposit_token } = quote;
    const paid = `${deposit_token_amount} ${deposit_token}`;
    return { facts: { executed, paid, rates: quote.rates }, result: undefined };
  });
}

function sendExecute({ sliproad }: StoryDeps, { user_id, quote_id }: Batch) {
  const tx_id = `0x${randomBytes(32).toString("hex")}`;
  const transfer = { tx_id, blockchain: CHAIN, network: "amoy" };
  return sliproad.quotes.execute(user_id, quote_id, transfer);
}

function waitForFiat({ sliproad, runStep }: StoryDeps, batch: Batch): Promise<Offramp[]> {
  return runStep("The bank has sent the money", async () => {
    const seen = new Set<string>();
    const sent = await waitFor(async () => {
      const shown: Offramp[] = [];
      for (const { id } of batch.offramps) {
        const offramp = await sliproad.offramps.show(batch.user_id, id);
        seen.add(offramp.status);
        shown.push(offramp);
      }
      const stray = shown.find(({ status }) => ["failed", "bounced"].includes(status));
      if (stray) {
        throw new StartupError(`Offramp ${stray.id} is ${stray.status}: ${stray.status_message}`);
      }
      return shown.every(({ status }) => status === "fiat_sent") ? shown : null;
    });
    if (!sent) {
      throw new StartupError(
        `The payouts did not reach fiat_sent within ${WAIT_MAX_MS / 1000} s (seen: ` +
          `${[...seen].join(", ")}); run sliproad doctor to find the cause.`,
      );
    }
    const references = sent.map((offramp) => proofOf(offramp).end_to_end_id);
    return { facts: { status: "fiat_sent", end_to_end_ids: references }, result: sent };
  });
}

function waitForWebhook({ receiver, runStep }: StoryDeps, batch: Batch): Promise<ReceivedEvent> {
  const ids = new Set(batch.offramps.map(({ id }) => id));
  const isOurs = ({ event }: ReceivedEvent) =>
    event.event === "offramp_update" &&
    ids.has(event.payload.offramp.id) &&
    event.payload.offramp.status === "fiat_sent";
  return runStep("The webhook arrived, and the SDK verified its signature", async () => {
    const found = await waitFor(async () => {
      const refused = receiver.refused.find(({ offramp_id }) => ids.has(offramp_id ?? ""));
      if (refused) throw new StartupError(`The signature of a webhook is invalid: ${refused.why}`);
      return receiver.received.find(isOurs) ?? null;
    });
    if (!found) {
      throw new StartupError(
        `No webhook arrived at ${receiver.url} within ${WAIT_MAX_MS / 1000} s; run sliproad apps ` +
          "list to see whether the endpoint receives events.",
      );
    }
    const { webhook_id, signature } = found;
    const facts = { event: "offramp_update", status: "fiat_sent", webhook_id, signature };
    return { facts: { ...facts, verified: true }, result: found };
  });
}

async function showLedger(
  { runStep, readLedger }: StoryDeps,
  account_id: string,
  { user_id, offramps }: Batch,
): Promise<PostedEntry[] | null> {
  if (!readLedger) return null;
  return runStep("The ledger: every entry balances, nothing is left pending", async () => {
    const offramp_ids = offramps.map(({ id }) => id);
    const payout = { account_id, user_id, chain: CHAIN, offramp_ids, currency: CURRENCY };
    const entries = await readLedger(payout);
    return { facts: { entries }, result: entries };
  });
}

const NOT_APPROVED = "not_yet_passed_kyc_kyb";

/** Null where the service refuses because the user is not approved yet. */
async function nullIfNotApproved<Result>(call: () => Promise<Result>): Promise<Result | null> {
  try {
    return await call();
  } catch (error) {
    if (isSliproadError(error, NOT_APPROVED)) return null;
    throw error;
  }
}

/** Polls until there is an answer; null when none came in time. */
async function waitFor<Answer>(ask: () => Promise<Answer | null>): Promise<Answer | null> {
  const end_ms = performance.now() + WAIT_MAX_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== null || performance.now() > end_ms) return answer;
    await sleep(ASK_MS);
  }
}

function proofOf({ id, status, payout_reference }: Offramp): Proof["offramps"][number] {
  return { id, status, end_to_end_id: payout_reference?.end_to_end_id ?? null };
}

function signatureOf({ webhook_id, signature }: ReceivedEvent): Proof["webhook"] {
  return { webhook_id, signature, verified: true };
}
