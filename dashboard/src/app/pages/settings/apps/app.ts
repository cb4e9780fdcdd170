import type { App } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { api, ask, queries } from "../../../api.ts";
import { may } from "../../../session.ts";

export const APPS_PATH = "/settings/developer/apps";

/** Answers of endpoints are no events: they are read again while a page shows them. */
export const REFRESH_MS = 3_000;

export type Attempt = {
  number: number;
  at: string;
  status: number | null;
  error: string | null;
  latency_ms: number;
  answer: string | null;
};

export type Delivery = {
  id: string;
  app_id: string;
  webhook_event_id: string;
  event: string;
  status: "pending" | "delivered" | "failed" | "skipped";
  reason: string | null;
  next_attempt_at: string | null;
  delivered_at: string | null;
  attempts: Attempt[];
  created_at: string;
};

export type DeliveryPage = { deliveries: Delivery[]; next: string | null };

export type ShownDelivery = {
  delivery: Delivery;
  is_sample: boolean;
  request: {
    method: string;
    url: string | null;
    headers: { name: string; value: string | null; note: string | null }[];
    body: string | null;
  };
};

export function useApp(id: string) {
  return useQuery({ queryKey: ["app", id], queryFn: () => api.apps.show(id) });
}

/** Shown again after a change of the application. */
export async function refreshApp(id: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ["app", id] }),
    queries.invalidateQueries({ queryKey: ["apps"] }),
    queries.invalidateQueries({ queryKey: ["deliveries", id] }),
  ]);
}

export function loadDeliveries(
  app_id: string,
  query: { status?: string | undefined; after?: string | undefined },
): Promise<DeliveryPage> {
  return ask<DeliveryPage>(`/apps/${encodeURIComponent(app_id)}/deliveries`, query);
}

/** The last answer of the endpoint, whatever it was. */
export function useLastAnswer(app_id: string) {
  return useQuery({
    queryKey: ["deliveries", app_id, "last"],
    queryFn: async () => {
      const { deliveries } = await loadDeliveries(app_id, {});
      const attempts = deliveries.flatMap((one) => one.attempts);
      return attempts.sort((a, b) => (a.at < b.at ? 1 : -1))[0] ?? null;
    },
    refetchInterval: REFRESH_MS,
  });
}

/** What the endpoint is told about, with what each event means. */
export const INVOICE_EVENTS: Readonly<Record<string, string>> = {
  create: "An invoice was created",
  accept: "The buyer accepted it",
  cancel: "The seller canceled it",
  reject: "The buyer rejected it",
  declareSentPayment: "The payment was declared as sent",
  declareReceivedPayment: "The payment was declared as received",
  paid: "It is paid",
  c2fPaymentFailed: "The payment came back",
};

export const RAMP_EVENTS: Readonly<Record<string, string>> = {
  offramp_update: "A payout changed its state",
  payment_detail_update: "A bank account changed its state",
  kyc_update: "An identity check changed its state",
  onramp_update: "A deposit to be delivered as coins changed its state",
};

export const FLOWS: Readonly<Record<App["flow"], { name: string; means: string }>> = {
  client_credentials: {
    name: "Client credentials",
    means: "Acts for this account, for example to send invoices. Admins create these.",
  },
  authorization_code: {
    name: "Authorization code",
    means: "Acts for people who authorize it.",
  },
};

/** With client credentials, the secret alone lets its holder change invoices. */
export function mayHoldSecret(flow: App["flow"]): boolean {
  return flow === "authorization_code" || may("manage_invoices");
}

/** One URL on each line. */
export function linesOf(text: string): string[] {
  return text.split(/\s+/).filter((line) => line !== "");
}
