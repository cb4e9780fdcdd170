import { createMember } from "../../src/accounts/create-member.ts";
import type { Role } from "../../src/accounts/model.ts";
import { PASSWORD, PASSWORD_HASH } from "../harness/password.ts";
import type { Installation } from "./installation.ts";
import type { User } from "./model.ts";
import type { Answer, Process, Request } from "./process.ts";

const APPROVALS = "/dashboard/api/approvals";
export const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
export const DETAIL = {
  ...{ account_name: "Maria Invented", bank_name: "Invented Bank", country: "PT" },
  ...{ beneficiary_type: "individual", date_of_birth: "21/04/1988", currency: "eur" },
  ...{ address_line1: "12 Invented Street", city: "Lisbon", postal_code: "1100-148" },
  iban: "DE89370400440532013000",
};

export type Member = Awaited<ReturnType<typeof addMember>>;
export type People = { users: Omit<User, "owed">[]; members: Member[] };

/** Those who are there before every seed: their records are part of the snapshot. */
export async function addPeople(installation: Installation): Promise<People> {
  const { accounts, processes } = installation;
  const [operator, other] = accounts;
  const call = async (request: Request): Promise<Answer["body"]> => {
    const answer = await processes[0]!.call(request);
    if (answer?.status !== 200) throw new Error(answer?.text);
    return answer.body;
  };
  const users: People["users"] = [];
  for (const account of [operator!, operator!, other!]) {
    const { key } = account;
    const post = (path: string, body: unknown) => call({ method: "POST", path, body, key });
    const email = `payer-${users.length}@example.com`;
    const company = { beneficiary_type: "business", company_name: "Invented Ltd", email };
    const { user } = await post("/users", { user: company });
    const path = `/users/${user.id}`;
    const kyc = { status: "approved" };
    await call({ method: "PATCH", path: `/sandbox${path}/kycs`, body: { kyc }, key });
    const details: string[] = [];
    for (let index = 0; index < 2; index += 1) {
      const made = await post(`${path}/payment_details`, { payment_detail: DETAIL });
      details.push(made.payment_detail.id);
    }
    const refund_address = { chain: "polygon", address: ADDRESS };
    await post(`${path}/refund_addresses`, { refund_address });
    users.push({ id: user.id, account, details, blocked: null, is_busy: false });
  }
  const app = {
    ...{ name: "Simulated receiver", webhook_url: "https://hooks.example.com/in" },
    events: ["offramp_update", "onramp_update"],
  };
  await call({ method: "POST", path: "/apps", body: { app }, key: operator!.key });
  const members: Member[] = [];
  for (const account of accounts) {
    for (const role of ["admin", "approver"] as const) {
      members.push(await addMember(installation, account.id, role, members.length));
    }
  }
  return { users, members };
}

/** A member of an account, signed in. */
async function addMember(
  { cores, processes }: Installation,
  account_id: string,
  role: Role,
  number: number,
) {
  const { database, index_key, clock } = cores[0]!;
  const email = `member-${number}@example.test`;
  const by = { actor: "command line", reason: "simulation" } as const;
  const input = { account_id, email, password_hash: PASSWORD_HASH, role, ...by };
  await database.transaction((tx) => createMember(tx, index_key, input, clock.now()));
  const browser = createBrowser(processes[0]!, `203.0.113.${number + 1}`);
  const signIn = async () => {
    await browser.get("/sign-in");
    await browser.post("/sign-in", { email, password: PASSWORD });
    await browser.get("/dashboard/security");
  };
  await signIn();
  /** What the page shows; sessions end while the clock leaps. */
  const listApprovals = async () => {
    const shown = await browser.call("GET", APPROVALS);
    if (shown) return shown.approvals;
    await signIn();
    return (await browser.call("GET", APPROVALS))?.approvals ?? [];
  };
  const vote = async (id: string, vote: object): Promise<boolean> =>
    (await browser.call("POST", `${APPROVALS}/${id}/votes`, vote)) !== null;
  return {
    account_id,
    /** Confirms what the page shows; false if it shows no such proposal. */
    confirm: async (id: string): Promise<boolean> => {
      const approvals = await listApprovals();
      const shown = approvals.find((one: { id: string }) => one.id === id);
      if (!shown?.digest || !shown.is_mine || shown.waits_for) return false;
      return vote(id, { verdict: "confirm", digest: shown.digest });
    },
    reject: async (id: string): Promise<boolean> => {
      await listApprovals();
      return vote(id, { verdict: "reject", reason: "Not agreed" });
    },
  };
}

/** Keeps cookies and the token against forged requests. */
function createBrowser({ server }: Process, address: string) {
  const cookies = new Map<string, string>();
  let csrf = "";
  const send = async (method: "GET" | "POST", url: string, type: string, payload?: string) => {
    const accept = type === "application/json" ? type : "text/html";
    const headers = { accept, "content-type": type, "x-csrf-token": csrf };
    const { "content-type": _, ...plain } = headers;
    const answer = await server.inject({
      ...{ method, url, remoteAddress: address, cookies: Object.fromEntries(cookies) },
      headers: payload === undefined ? plain : headers,
      ...(payload === undefined ? {} : { payload }),
    });
    for (const { name, value } of answer.cookies) cookies.set(name, value);
    const [, in_form, in_page] =
      /name="csrf" value="([^"]*)"|"csrf":"([^"]*)"/.exec(answer.body) ?? [];
    csrf = in_form ?? in_page ?? csrf;
    return answer;
  };
  return {
    get: (url: string) => send("GET", url, "text/html"),
    post: (url: string, fields: Record<string, string>) =>
      send(
        "POST",
        url,
        "application/x-www-form-urlencoded",
        new URLSearchParams({ csrf, ...fields }).toString(),
      ),
    /** Null if it was refused. */
    call: async (method: "GET" | "POST", url: string, body?: object) => {
      const payload = body === undefined ? undefined : JSON.stringify(body);
      const answer = await send(method, url, "application/json", payload);
      return answer.statusCode === 200 ? JSON.parse(answer.body) : null;
    },
  };
}
