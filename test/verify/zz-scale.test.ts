import { test } from "vitest";
import { openLedgerRoom, NOW } from "../ledger/ledger-room.ts";
import { postEntries } from "../../src/ledger/post.ts";
import * as p from "../../src/ledger/postings.ts";
import { verifyLedger } from "../../src/verify/verify-ledger.ts";
import { verifyOfframps } from "../../src/verify/verify-offramps.ts";
import { verifyQuotes } from "../../src/verify/verify-quotes.ts";
import { digestFacts } from "../../src/offramps/model.ts";
import { recordEvents } from "../../src/webhooks/record-event.ts";
import { updateOfframps, lockOfframps } from "../../src/offramps/store.ts";
import { lockUsers } from "../../src/users/store.ts";
import { tellPayouts } from "../ledger/payout-story.ts";
const times = new Map<string, number>();
test("scale", async () => {
  const room = await openLedgerRoom();
  const account_id = await room.addAccount(); const user_id = await room.addUser(account_id);
  const payouts = tellPayouts(room);
  const item = { destination_amount: 10000n, fee: 40n, token_amount: 111555556n };
  let t = performance.now(); let post_ms = 0; let ids: string[] = [];
  for (let i = 0; i < 4; i++) {
    const { quote, offramps } = await room.addQuote(account_id, user_id, Array.from({length: 5000}, () => item));
    await payouts.deposit(quote, quote.token_amount); await payouts.fundQuote(quote, quote.token_amount);
    ids.push(...offramps.map(o=>o.id));
    for (let at = 0; at < 5000; at += 200) {
      const chunk = offramps.slice(at, at + 200);
      const ev = (from: string) => chunk.map(o => ({ account_id, name: "offramp_update" as const, record_id: o.id, sequence: o.sequence, from_status: from, to_status: o.status, facts: digestFacts(o), subject_id: user_id, key: Buffer.alloc(32), body: "{}" }));
      for (const [from, to] of [["initiated","pending_internal_assessment"],["pending_internal_assessment","sending_fiat"],["sending_fiat","fiat_sent"]] as const) {
        for (const o of chunk) { o.status = to; o.sequence++; o.funded_at = NOW; if (to === "sending_fiat") o.attempt = 1; }
        const s = performance.now();
        await room.database.transaction(async real => {
          const q: [string, readonly unknown[]][] = [];
          const tx = { ...real, write: (a: string, b: readonly unknown[]) => void q.push([a, b]) };
          await (async () => {
          if (to === "fiat_sent") { updateOfframps(tx, chunk.map(offramp => ({ offramp, key: Buffer.alloc(32) })));
            tx.write("insert into payouts select $1, o, 1, $3, o::text, 'booked', null, $4, $4 from unnest($2::uuid[]) o", [account_id, chunk.map(o=>o.id), chunk[0]!.payment_detail_id, NOW]); }
          recordEvents(tx, ev(from), NOW);
          postEntries(tx, chunk.map(o => to === "pending_internal_assessment" ? p.offrampFunded(o) : to === "sending_fiat" ? p.payoutInstructed(o) : p.payoutBooked(o, 1)), NOW);
          })();
          for (const [a, b] of q) { const z = performance.now(); await real.query(a, b); const k = a.trim().slice(0, 40).replace(/\s+/g, " "); times.set(k, (times.get(k) ?? 0) + performance.now() - z); }
        });
        post_ms += performance.now() - s;
      }
    }
  }
  console.log("build", Math.round(performance.now() - t), "per 200-chunk tx", (post_ms/300).toFixed(1));
  console.log(times);
  for (const analyzed of [false, true]) {
    if (analyzed) await room.database.query("analyze");
    for (const [n, c] of [["ledger", verifyLedger],["quotes", verifyQuotes],["offramps", verifyOfframps]] as const) {
      t = performance.now();
      const f = await c(room.database, account_id);
      console.log(analyzed, n, Math.round(performance.now() - t), f, Math.round(process.memoryUsage().rss/1e6)+"MB");
    }
    t = performance.now(); await lockOfframps(room.database, ids.slice(0, 100).map(id => ({ account_id, id })));
    console.log("lockOfframps 100 of 100k", (performance.now() - t).toFixed(1));
    t = performance.now(); await room.database.query("select o.* from offramps o join unnest($1::uuid[], $2::uuid[]) as t (account_id, id) using (account_id, id) order by account_id, id for no key update of o", [ids.slice(0,100).map(()=>account_id), ids.slice(0,100)]);
    console.log("join form", (performance.now() - t).toFixed(1));
  }
  t = performance.now(); await room.seal(); console.log("seal one round", Math.round(performance.now() - t));
  await room.drop();
}, 900000);
