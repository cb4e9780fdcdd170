import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { RAMP_EVENTS } from "../access/app-model.ts";
import { StartupError } from "../platform/startup-error.ts";
import { INVOICE_EVENTS } from "../webhooks/record-events.ts";
import { type ApiClient, type ApiOptions, openApiClient, withApiOptions } from "./api-client.ts";
import { type JsonOption, print } from "./context.ts";

type Triggered = { record: string; id: string | null };

/** What leads to each event in earnest; the others are sent as samples. */
const STORIES: Record<string, (api: ApiClient, status: string) => Promise<Triggered>> = {
  kyc_update: async (api, status) => {
    const id = await makeUser(api);
    await api.call("PATCH", `/sandbox/users/${id}/kycs`, { kyc: { status } });
    return { record: "user", id };
  },
  payment_detail_update: async (api, status) => {
    const user_id = await makeUser(api);
    const id = await makePaymentDetail(api, user_id);
    const path = `/sandbox/users/${user_id}/payment_details/${id}`;
    await api.call("PATCH", path, { payment_detail: { status } });
    return { record: "payment_detail", id };
  },
  offramp_update: async (api, status) => {
    const user_id = await makeUser(api);
    await api.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status: "approved" } });
    const payment_detail_id = await makePaymentDetail(api, user_id);
    const { quote } = await api.call("POST", `/users/${user_id}/quotes`, {
      quote: { deposit_token: "usdc", deposit_token_chain: "polygon" },
    });
    const supporting_document_attributes = { submitted_url: "https://files.test/invoice.pdf" };
    const { offramps } = await api.call("POST", `/users/${user_id}/quotes/${quote.id}/offramps`, {
      offramps: [
        {
          payment_detail_id,
          destination_amount: 1000,
          destination_currency: "eur",
          supporting_document_attributes,
        },
      ],
    });
    await api.call("PATCH", `/sandbox/offramps/${offramps[0].id}`, { offramp: { status } });
    return { record: "offramp", id: offramps[0].id };
  },
};

const DEFAULT_STATUS: Record<string, string> = {
  kyc_update: "approved",
  payment_detail_update: "pending",
  offramp_update: "fiat_sent",
  onramp_update: "crypto_sent",
};

export function addTriggerCommand(program: Command): void {
  const names = [...RAMP_EVENTS, ...INVOICE_EVENTS];
  withApiOptions(program.command("trigger"))
    .description("let something happen in the sandbox, so that its events are sent")
    .argument("<event>", names.join(", "))
    .option("--status <status>", "the state to reach")
    .option("--json", "print one JSON document")
    .action(async (event: string, options: ApiOptions & JsonOption & { status?: string }) => {
      if (!(names as string[]).includes(event)) {
        throw new StartupError(`There is no event ${event}; choose one of ${names.join(", ")}.`);
      }
      const api = await openApiClient(options);
      const status = options.status ?? DEFAULT_STATUS[event];
      const story = STORIES[event];
      if (story) {
        const { record, id } = await story(api, status!);
        const line = `${record} ${id} was made and taken to ${status}.`;
        return print(options, { triggered: { event, status, record, id } }, [line]);
      }
      const body = { webhook_type: event, ...(status ? { status } : {}) };
      const { webhook } = await api.call("POST", "/sandbox/webhook", body);
      const line = `A sample of ${event} goes to ${webhook.deliveries} applications.`;
      print(options, { triggered: { event, status: status ?? null, ...webhook } }, [line]);
    });
}

async function makeUser(api: ApiClient): Promise<string> {
  const { user } = await api.call("POST", "/users", {
    user: {
      beneficiary_type: "individual",
      email: `trigger-${randomUUID()}@example.com`,
      first_name: "Ana",
      last_name: "Sample",
    },
  });
  return user.id;
}

async function makePaymentDetail(api: ApiClient, user_id: string): Promise<string> {
  const { payment_detail } = await api.call("POST", `/users/${user_id}/payment_details`, {
    payment_detail: {
      account_name: "Maria Sample",
      currency: "eur",
      iban: "DE89370400440532013000",
      bank_name: "Sample Bank",
      beneficiary_type: "individual",
      date_of_birth: "21/04/1988",
      address_line1: "12 Sample Street",
      city: "Lisbon",
      postal_code: "1100-148",
      country: "PT",
    },
  });
  return payment_detail.id;
}
