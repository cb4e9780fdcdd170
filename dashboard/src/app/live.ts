import { queries } from "./api.ts";
import { session } from "./session.ts";

/** Which lists and pages show what changed: the first word of their query keys. */
const SHOWN_BY: Readonly<Record<string, readonly string[]>> = {
  offramp_update: ["payouts", "payout", "documents", "person", "overview", "ledger"],
  payment_detail_update: ["person", "bank-accounts", "names"],
  kyc_update: ["people", "person", "review", "overview", "names"],
  onramp_update: ["deposits", "overview", "ledger"],
  // New records.
  quotes: ["payouts"],
  users: ["people"],
  payment_details: ["person", "bank-accounts"],
  deposits: ["deposits", "payouts", "person", "overview", "ledger"],
  fiat_deposits: ["deposits", "overview", "ledger"],
  onramps: ["deposits"],
  // What somebody did, as the audit log has it: by the kind of the record.
  quote: ["payouts", "payout", "person", "overview"],
  offramp: ["payouts", "payout", "documents", "overview", "ledger"],
  user: ["people", "person", "names"],
  payment_detail: ["person", "bank-accounts", "names"],
  refund: ["person", "payouts", "payout", "overview", "ledger"],
  deposit: ["deposits", "overview", "ledger"],
  bank_exception: ["deposits", "overview", "ledger"],
  screening_match: ["people", "person", "overview"],
  proposal: ["approvals", "payouts", "payout", "overview"],
  account: ["security", "limits"],
  person: ["team"],
  me: ["security"],
  api_key: ["keys"],
  app: ["apps", "app", "deliveries", "overview"],
  payout_batch: ["batches", "batch"],
  audit: ["audit"],
};
const EVERYTHING = "*";
const CHANNEL = "sliproad-changes";
/** Changes that arrive together are read once. */
const GATHER_MS = 400;
const RETRY_MS = 3_000;

/**
 * Keeps open pages up to date. One tab of the browser listens and tells the others: a browser
 * opens few connections to one server.
 */
export function listenForChanges(): void {
  const channel = new BroadcastChannel(CHANNEL);
  const gather = gatherChanges();
  channel.onmessage = ({ data }) => gather(data);
  const tell = (name: string) => {
    gather(name);
    channel.postMessage(name);
  };
  if (navigator.locks) navigator.locks.request(CHANNEL, () => readForever(tell));
  else void readForever(tell);
}

async function readForever(tell: (name: string) => void): Promise<never> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      // What happened while nothing was read is not known.
      if (!isFirst) tell(EVERYTHING);
      await readStream(tell);
    } catch {
      // The connection is lost; the next attempt says whether the server is there.
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS * (1 + Math.random())));
  }
}

async function readStream(tell: (name: string) => void): Promise<void> {
  const headers = { "x-csrf-token": session.csrf };
  const answer = await fetch("/dashboard/api/changes", { headers, credentials: "same-origin" });
  if (!answer.ok || !answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) readBlock(block, tell);
  }
}

function readBlock(block: string, tell: (name: string) => void): void {
  const data = /^data: (.*)$/m.exec(block)?.[1];
  if (data === undefined) return;
  tell(/^event: refresh$/m.test(block) ? EVERYTHING : JSON.parse(data).name);
}

function gatherChanges(): (name: string) => void {
  const waiting = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const read = () => {
    timer = undefined;
    const names = [...waiting];
    waiting.clear();
    if (names.includes(EVERYTHING)) return void queries.invalidateQueries();
    const shown = new Set(names.flatMap((name) => SHOWN_BY[name] ?? ["invoices"]));
    queries.invalidateQueries({ predicate: ({ queryKey }) => shown.has(String(queryKey[0])) });
  };
  return (name) => {
    waiting.add(name);
    if (timer === undefined) timer = setTimeout(read, GATHER_MS);
  };
}
