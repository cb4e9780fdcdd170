import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLocation } from "wouter";
import { api, ask, messageOf, queries } from "../api.ts";
import { setServiceNow } from "../clock.ts";
import { may, session } from "../session.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CLOCK_READ_MS = 60_000;
const TOKEN_DIGITS = 6;
const SHOWN_MS = 6_000;
const IS_ID = /^[0-9a-f-]{36}$/;

type Act = { name: string; play: () => Promise<unknown> };

/** In sandbox only: the clock, and buttons that play the partners for the record that is open. */
export function SandboxBar() {
  const [path] = useLocation();
  const clock = useQuery({
    queryKey: ["sandbox clock"],
    queryFn: readClock,
    refetchInterval: CLOCK_READ_MS,
  });
  const { mutate, isPending, variables, error, isSuccess, reset } = useMutation({
    mutationFn: ({ play }: Act) => play(),
    onSettled: () => queries.invalidateQueries(),
  });
  useEffect(() => {
    if (!isSuccess && !error) return;
    const timer = setTimeout(reset, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isSuccess, error, reset]);
  const acts = [...actsOn(path), ...(session.account.is_operator ? CLOCK_ACTS : [])];
  return (
    <section className="sandbox" aria-label="Sandbox">
      <span className="sandbox-clock">{clock.data && <Time at={clock.data} />}</span>
      {may("use_sandbox") &&
        acts.map((act) => (
          <Button
            key={act.name}
            size="compact-xs"
            variant="default"
            loading={isPending && variables?.name === act.name}
            disabled={isPending}
            onClick={() => mutate(act)}
          >
            {act.name}
          </Button>
        ))}
      <span role="status" className={error ? "sandbox-error" : "sandbox-done"}>
        {error && messageOf(error)}
        {isSuccess && `${variables.name}: done`}
      </span>
    </section>
  );
}

const CLOCK_ACTS: readonly Act[] = [
  { name: "+1 hour", play: () => advance(HOUR_MS) },
  { name: "+1 day", play: () => advance(DAY_MS) },
];

async function advance(by_ms: number): Promise<void> {
  const { now } = await api.sandbox.advanceClock(by_ms);
  setServiceNow(now);
}

async function readClock(): Promise<string> {
  const { now } = await api.sandbox.showClock();
  setServiceNow(now);
  return now;
}

/** What the partners can do about the record that this page shows. */
function actsOn(path: string): Act[] {
  const [, section, id] = path.split("/");
  if (!id || !IS_ID.test(id)) return [];
  const { sandbox } = api;
  if (section === "payouts") {
    return [
      { name: "Bank pays it", play: () => sandbox.setOfframpStatus(id, "fiat_sent") },
      { name: "Bank returns it", play: () => sandbox.setOfframpStatus(id, "bounced") },
      { name: "Bank refuses it", play: () => sandbox.setOfframpStatus(id, "failed") },
    ];
  }
  if (section === "quotes") {
    return [
      { name: "Coins arrive", play: () => payQuote(id, 1) },
      { name: "Half of them arrives", play: () => payQuote(id, 0.5) },
    ];
  }
  if (section === "deposits") {
    return [
      { name: "Deposit arrives", play: () => sandbox.setOnrampStatus(id, "crypto_sent") },
      { name: "It fails", play: () => sandbox.setOnrampStatus(id, "failed") },
    ];
  }
  if (section === "people") {
    return [
      { name: "Approve identity", play: () => sandbox.setKycStatus(id, "approved") },
      { name: "Ask again", play: () => sandbox.setKycStatus(id, "retry_required") },
      { name: "Refuse identity", play: () => sandbox.setKycStatus(id, "failed") },
    ];
  }
  if (section === "invoices") {
    return [
      { name: "Buyer accepts", play: () => sandbox.setInvoiceStatus(id, "accepted") },
      { name: "Buyer pays", play: () => sandbox.setInvoiceStatus(id, "paid") },
    ];
  }
  return [];
}

/** Sends what the quote still costs, or a part of it, to its address. */
async function payQuote(quote_id: string, part: number): Promise<void> {
  const { missing } = await ask<{ missing: string }>(`/quotes/${quote_id}`);
  const amount = part === 1 ? missing : (Number(missing) * part).toFixed(TOKEN_DIGITS);
  await api.sandbox.createCryptoDeposit({ quote_id, amount });
}

const format = new Intl.DateTimeFormat("en-GB", {
  ...{ day: "numeric", month: "short", year: "numeric" },
  ...{ hour: "2-digit", minute: "2-digit", timeZone: "UTC", timeZoneName: "short" },
});

function Time({ at }: { at: string }) {
  return (
    <>
      Sandbox time <time dateTime={at}>{format.format(new Date(at))}</time>
    </>
  );
}
