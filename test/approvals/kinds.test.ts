import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setMemberRole } from "../../src/accounts/change-members.ts";
import { accountChange } from "../../src/approvals/change-accounts.ts";
import { memberChange } from "../../src/approvals/change-members.ts";
import { type ControlledChange, changeOrPropose } from "../../src/approvals/controlled-change.ts";
import { PROPOSAL_KINDS } from "../../src/approvals/kinds.ts";
import { limitChange } from "../../src/limits/change-limits.ts";
import { EVERY } from "../../src/limits/model.ts";
import { setLimit } from "../../src/limits/set-limit.ts";
import type { Transaction } from "../../src/platform/db/database.ts";
import { bankItemChange } from "../../src/reconcile/banks/bank-item-change.ts";
import { treasuryChange } from "../../src/reconcile/treasury/book-treasury.ts";
import { UPLOAD, UPLOAD_TYPE } from "../harness/api-document.ts";
import { addPaymentDetail } from "../harness/ramp.ts";
import { createException } from "../harness/records.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addWaiting, decide, setAccount, signInAs } from "../kyc/review/review-fixture.ts";
import { findFault, good, openStory, settle } from "../offramps/story.ts";
import { ADDRESS, act, openOnramp, receive } from "../onramps/story.ts";
import {
  addMember,
  addOwedUser,
  payOut,
  proposalIn,
  STRANGE,
  shownIn,
  showProposal,
  type TestMember,
  waitForEnd,
} from "./proposal-fixture.ts";

let server: TestServer;
let ada: TestMember;
let ben: TestMember;

beforeAll(async () => {
  const environment = { SLIPROAD_APPROVAL_ABOVE_USD: "100", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "approver");
});
afterAll(() => server.close());

type Asked = {
  id: string;
  record_id: string;
  /** What the proposal and the page must show. */
  shows: string[];
  /** Changes what the first voter saw. */
  change: () => Promise<unknown>;
};

const walk = async (id: string, status: string) =>
  good(await server.call("PATCH", `/sandbox/offramps/${id}`, { offramp: { status } }));
const OTHER_IBAN = "PT50000201231234567890154";

async function agree(id: string) {
  await ada.confirm(id);
  await ben.confirm(id);
  return waitForEnd(server, id);
}

async function openBounced() {
  const story = await openStory(server, [{ amount: 200 }]);
  await payOut(server, story, [ada, ben]);
  await walk(story.offramp_id, "bounced");
  const other_id = await addPaymentDetail(server, story.user_id, "eur", {
    account_name: "Rui Invented",
    iban: OTHER_IBAN,
  });
  /** The payout is re-routed, and bounces again. */
  const rerouteAndBounce = async () => {
    expect((await agree(proposalIn(await story.reroute()).id)).status).toBe("done");
    await story.waitForStatus("fiat_sent");
    await walk(story.offramp_id, "bounced");
  };
  return { ...story, other_id, rerouteAndBounce };
}

const PAYER = "Sandbox Payer";
const USER = "Invented Payroll Ltd";

async function openUnmatched(action: "match" | "accept_difference") {
  const { id, code } = await openOnramp(server, { destination_amount: 500 });
  const amount = action === "match" ? 502 : 501;
  const deposit = await receive(server, { amount, deposit_message: "no code" });
  const asked = proposalIn(await act(server, deposit.id, action, { onramp_id: id }));
  return { asked, deposit, code };
}

const ASK: Record<keyof typeof PROPOSAL_KINDS, () => Promise<Asked>> = {
  "pay-quote": async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const { proposal_id } = good(await story.execute()).approval;
    await story.waitForStatus("ongoing_checks");
    const other_id = await addPaymentDetail(server, story.user_id, "eur");
    return {
      id: proposal_id,
      record_id: story.quote_id,
      shows: [USER, "200 eur", "“Maria Invented”, iban DE89…3000", "usdc on polygon"],
      // No route changes an executed quote.
      change: () =>
        server.db.database.query("update offramps set payment_detail_id = $2 where id = $1", [
          ...[story.offramp_id, other_id],
        ]),
    };
  },
  "refund-balances": async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund("150.5", STRANGE));
    const refund_address = { chain: "polygon", address: STRANGE };
    const path = `/users/${user.user_id}/refund_addresses`;
    return {
      id,
      record_id: user.user_id,
      shows: [USER, "150.5 usdc on polygon", `${STRANGE}, an address that the user has not`],
      change: () => server.call("POST", path, { refund_address }),
    };
  },
  "refund-offramps": async () => {
    const story = await openBounced();
    return {
      id: proposalIn(await story.giveUp()).id,
      record_id: story.offramp_id,
      shows: [
        USER,
        "200 eur by local",
        "“Maria Invented”, iban DE89…3000",
        "balance in usdc on polygon",
      ],
      change: story.rerouteAndBounce,
    };
  },
  "reroute-offramps": async () => {
    const story = await openBounced();
    return {
      id: proposalIn(await story.reroute(story.other_id)).id,
      record_id: story.offramp_id,
      shows: [
        USER,
        "200 eur by local",
        "“Maria Invented”, iban DE89…3000",
        "“Rui Invented”, iban PT50…0154",
      ],
      change: story.rerouteAndBounce,
    };
  },
  "review-documents": async () => {
    const { offramp_id } = await openStory(server, [{ amount: 200 }]);
    const path = `/offramps/${offramp_id}/supporting-documents`;
    const headers = { "content-type": UPLOAD_TYPE };
    const upload = (raw: Buffer) => server.call("POST", path, undefined, { raw, headers });
    good(await upload(UPLOAD));
    const supporting_document = { status: "approved", comment: "Matches the contract" };
    const { id } = proposalIn(await server.call("PATCH", path, { supporting_document }));
    const other = Buffer.from(UPLOAD.toString("latin1").replace("invented", "replaced"), "latin1");
    return {
      id,
      record_id: offramp_id,
      shows: [
        ...[USER, "200 eur", "“Maria Invented”, iban DE89…3000", "not checked → approved"],
        ...["Matches the contract", "pdf, SHA-256 "],
      ],
      change: () => upload(other),
    };
  },
  "match-deposits": async () => {
    const { asked, deposit, code } = await openUnmatched("match");
    return {
      id: asked.id,
      record_id: deposit.id,
      shows: [USER, "502 usd", PAYER, deposit.bank_reference, "500 usdc on polygon", ADDRESS],
      // Another deposit pays the onramp.
      change: () => receive(server, { amount: 502, deposit_message: code }),
    };
  },
  "accept-difference-deposits": async () => {
    const { asked, deposit, code } = await openUnmatched("accept_difference");
    return {
      id: asked.id,
      record_id: deposit.id,
      shows: [USER, "501 usd", "for 502 usd", PAYER, "500 usdc on polygon", ADDRESS],
      change: () => receive(server, { amount: 502, deposit_message: code }),
    };
  },
  "return-deposits": async () => {
    const { id: onramp_id } = await openOnramp(server, { destination_amount: 500 });
    const deposit = await receive(server, { amount: 502, deposit_message: "to return" });
    const { id } = proposalIn(await act(server, deposit.id, "return"));
    return {
      id,
      record_id: deposit.id,
      shows: ["502 usd", PAYER, "to return", deposit.bank_reference],
      change: async () => {
        const matched = await act(server, deposit.id, "match", { onramp_id });
        expect((await agree(proposalIn(matched).id)).status).toBe("done");
        await settle(server);
      },
    };
  },
  "dismiss-deposits": async () => {
    const line = { deposit_message: "twice", bank_reference: `twice-${crypto.randomUUID()}` };
    const first = await receive(server, { ...line, amount: 200 });
    const second = await receive(server, { ...line, amount: 201 });
    const { id } = proposalIn(await act(server, second.id, "dismiss"));
    return {
      id,
      record_id: second.id,
      shows: ["201 usd", PAYER, "twice", line.bank_reference],
      change: async () =>
        expect((await agree(proposalIn(await act(server, first.id, "return")).id)).status).toBe(
          "done",
        ),
    };
  },
  "resolve-bank-exceptions": async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const { offramp_id } = story;
    await payOut(server, story, [ada, ben]);
    const rejected = { kind: "rejected", amount: 200_00n };
    const record_id = await createException(server, rejected);
    const body = { resolution: "assign", offramp_id, reason: "The bank called" };
    const asked = await server.call("POST", `/bank_exceptions/${record_id}/resolve`, body);
    return {
      id: proposalIn(asked).id,
      record_id,
      shows: ["assign", "rejected 200 eur", `harness-${record_id}`, offramp_id, "The bank called"],
      change: () => walk(offramp_id, "bounced"),
    };
  },
  "decide-kyc": async () => {
    await setAccount(server, server.account_id, { kyc_two_person_approval: true });
    const { user_id, path } = await addWaiting(server, server, {
      ...{ first_name: "Vera", last_name: "Invented" },
    });
    const { visitor } = await signInAs(server, server.account_id, "approver");
    await decide(visitor, path, "refuse", "The photo is not readable");
    const { proposals } = good(await server.call("GET", "/proposals?status=pending"));
    return {
      id: proposals[0].id,
      record_id: user_id,
      shows: ["Vera Invented", "awaiting manual review → failed", "The photo is not readable"],
      change: () => server.call("PATCH", `/users/${user_id}`, { user: { city: "Porto" } }),
    };
  },
  "change-members": async () => {
    const { person_id, email } = await addMember(server, "approver");
    const input = { action: "set_role", email, person_id, role: "admin" } as const;
    return {
      id: await propose(memberChange({ ...server.core, mode: "sandbox" }), input),
      record_id: server.account_id,
      shows: [email, "Approver", "Admin", "Agreed in the meeting"],
      change: () =>
        apply((tx, now) =>
          setMemberRole(tx, { account_id: server.account_id, person_id }, "accountant", BY, now),
        ),
    };
  },
  "change-accounts": async () => ({
    id: await propose(accountChange, { approval_above_usd: 5_000_00n }),
    record_id: server.account_id,
    shows: ["the installation's → 5000 usd", "Agreed in the meeting"],
    change: () => setAccount(server, server.account_id, { approval_above_usd: 100_00n }),
  }),
  "set-limits": async () => {
    const { account_id } = server;
    const of = { account_id, user_id: EVERY, scope: "account", time_window: "day" } as const;
    const rule = { ...of, amount_max: 2_000_000_00n, count_max: null };
    return {
      id: await propose(limitChange, rule),
      record_id: account_id,
      shows: ["account, day", "None", "2000000 usd", "Agreed in the meeting"],
      change: () =>
        apply(async (tx, now) =>
          setLimit(
            tx,
            { ...rule, amount_max: 1_000_000_00n },
            { ...BY, operator_id: account_id },
            now,
          ),
        ),
    };
  },
  "settle-bank-items": async () => {
    const { database } = server.core;
    const [row] = await database.query<{ number: bigint }>(
      `insert into bank_returns (key, bank_account, bank_reference, amount, currency, state,
         problem, created_at)
       values ($1, 'main-eur', 'line', 12345, 'eur', 'by_hand', 'no account', $2)
       returning number`,
      [crypto.randomUUID(), server.core.clock.now()],
    );
    const id = `return-${row!.number}`;
    return {
      id: await propose(bankItemChange(server.core.index_key), { id, found: null }),
      record_id: server.account_id,
      shows: [id, "123.45 eur", "sent back by hand", "Agreed in the meeting"],
      // As nobody can without SQL.
      change: () =>
        database.query("update bank_returns set amount = 1 where number = $1", [row!.number]),
    };
  },
  "book-treasury": async () => {
    const { account_id } = server;
    const opening = { what: "opening", bank_account: "main-eur", currency: "eur" } as const;
    return {
      id: await propose(treasuryChange, { ...opening, amount: "123456" }),
      record_id: account_id,
      shows: ["bank_account:main-eur", "1234.56 eur", "Agreed in the meeting"],
      // As if a part of it had been booked before.
      change: () =>
        apply((tx, now) =>
          treasuryChange.apply(tx, account_id, { ...opening, amount: "3456" }, BY, now),
        ),
    };
  },
};

const BY = { actor: "command line", reason: "Agreed in the meeting" } as const;

function apply<Result>(work: (tx: Transaction, now: Date) => Promise<Result>): Promise<Result> {
  const { database, clock } = server.core;
  return database.transaction((tx) => work(tx, clock.now()));
}

async function propose<Input>(change: ControlledChange<Input>, input: Input): Promise<string> {
  const asked = { account_id: server.account_id, input, is_operators: true, by: BY };
  const proposal = await apply((tx, now) => changeOrPropose(tx, server.core, change, asked, now));
  return proposal!.id;
}

describe.each(Object.keys(ASK) as (keyof typeof ASK)[])("a proposal to %s", (kind) => {
  let asked: Asked;

  it("shows who asked, to whom, how much and why, with a link to the record", async () => {
    asked = await ASK[kind]();
    const proposal = await showProposal(server, asked.id);
    expect(proposal).toMatchObject({ kind, record_id: asked.record_id, status: "pending" });
    expect(proposal.proposed_by).toMatch(/^(api_key|member):[0-9a-f-]{36}$|^command line$/);
    expect(proposal.why).toMatch(/\.$/);
    expect(proposal.record_url).toBe(`${server.url}/dashboard/records/${asked.record_id}`);
    const labels = proposal.details.map(({ label }: { label: string }) => label);
    expect(labels).toEqual(expect.arrayContaining([...PROPOSAL_KINDS[kind].shows]));
    const listed = good(await server.call("GET", "/proposals?status=pending")).proposals;
    expect(listed.find(({ id }: { id: string }) => id === asked.id)).toEqual(proposal);
    const shown = shownIn(await ada.open(), asked.id);
    const section = shown.details.map(({ value }: { value: string }) => value).join("\n");
    const values = proposal.details.map(({ value }: { value: string }) => value).join("\n");
    for (const text of asked.shows) {
      expect(values).toContain(text);
      expect(section).toContain(text);
    }
    expect(values).not.toContain("DE89370400440532013000");
    expect(shown).toMatchObject({ why: proposal.why, record_id: asked.record_id });
  });

  it("is void once what it shows has changed after the first vote", async () => {
    if (kind !== "decide-kyc") await ada.confirm(asked.id);
    await asked.change();
    await ben.confirm(asked.id);
    const ended = await waitForEnd(server, asked.id);
    expect(ended).toMatchObject({ status: "void", outcome: expect.stringContaining("changed") });
    await settle(server);
  });
});

it("sliproad verify finds no problems after these tests", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});
