import type { App } from "@sliproad/sdk";
import type { ReactNode } from "react";
import { Icon } from "../../../parts/icons.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { type Attempt, useLastAnswer } from "./app.ts";
import { WebhookChip } from "./webhook-chip.tsx";

type Check = {
  name: string;
  /** Null where it does not stop anything. */
  is_met: boolean | null;
  text: ReactNode;
};

/** Everything that an event needs to be sent, in the order in which it is checked. */
export function SetupCard({ app }: { app: App }) {
  const last = useLastAnswer(app.id);
  const { webhook } = app;
  return (
    <section className="card facts" aria-labelledby="setup-title">
      <div className="card-head">
        <h2 id="setup-title">{titleOf(webhook)}</h2>
        <WebhookChip webhook={webhook} />
      </div>
      <ul className="checks">
        {checksOf(app, last.data ?? null).map(({ name, is_met, text }) => (
          <li key={name} className={is_met === false ? "check-unmet" : "check-met"}>
            <Icon name={is_met === null ? "wait" : is_met ? "done" : "needs"} size={16} />
            <div>
              <div className="strong">{name}</div>
              <div className="quiet">{text}</div>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function titleOf({ state, failing_since }: App["webhook"]): string {
  if (state !== "active") return "Why nothing is sent";
  return failing_since ? "Deliveries fail" : "Events are sent";
}

function checksOf({ webhook }: App, last: Attempt | null): Check[] {
  const { state, events } = webhook;
  const isEnabled = state !== "not_enabled";
  return [
    {
      name: "Enabled for this account",
      is_met: isEnabled,
      text: isEnabled
        ? "The operator enabled webhooks."
        : "Ask the operator: sliproad accounts enable-webhooks.",
    },
    {
      name: "Webhook URL",
      is_met: webhook.url !== null,
      text: webhook.url ?? "Set one under Webhook.",
    },
    {
      name: "Webhook secret",
      is_met: webhook.has_secret,
      text: webhook.has_secret ? "Set; it signs every event." : "Set one under Webhook.",
    },
    {
      name: "Events",
      is_met: true,
      text:
        events.length === 0
          ? "Those of invoices. None of payouts, deposits and identity checks is chosen."
          : `Those of invoices, and ${events.join(", ")}.`,
    },
    endpointCheck(webhook),
    { name: "Last answer", ...describeAnswer(last) },
  ];
}

function endpointCheck({ state, reason, circuit_until, failing_since }: App["webhook"]): Check {
  const name = "Endpoint";
  if (state === "paused") return { name, is_met: false, text: reason ?? "Paused." };
  if (state === "disabled") {
    return { name, is_met: false, text: `${reason ?? "Disabled."} Resume it once it works.` };
  }
  if (circuit_until && Date.parse(circuit_until) > Date.now()) {
    const text = (
      <>
        Several failures in a row: the next try is at{" "}
        {new Date(circuit_until).toLocaleTimeString("en-GB")}.
      </>
    );
    return { name, is_met: false, text };
  }
  if (failing_since) {
    const text = (
      <>
        Failing since <Moment at={failing_since} />; failed events are tried again.
      </>
    );
    return { name, is_met: false, text };
  }
  return { name, is_met: true, text: "Neither paused nor disabled." };
}

function describeAnswer(last: Attempt | null): Pick<Check, "is_met" | "text"> {
  if (!last) return { is_met: null, text: "Nothing was sent yet." };
  const is_met = last.status !== null && last.status >= 200 && last.status < 300;
  const error = last.error?.replace(/\.$/, "") ?? "No answer";
  const said = last.status === null ? error : `HTTP ${last.status}`;
  const text = (
    <>
      {said} after {last.latency_ms} ms, <Moment at={last.at} />
    </>
  );
  return { is_met, text };
}
