import { type EventName, RAMP_EVENTS, type RampEvent } from "../events/model.ts";
import { INVOICE_STATUSES, type InvoiceStatus, isIssued, STATUS_AFTER } from "../invoices/model.ts";
import { createInvoiceRenderer } from "../invoices/render.ts";
import { OFFRAMP_STATUSES, type OfframpStatus } from "../offramps/model.ts";
import { createOfframpRenderer } from "../offramps/render.ts";
import { ONRAMP_STATUSES, type OnrampStatus } from "../onramps/model.ts";
import { renderOnrampEvent } from "../onramps/render.ts";
import { PAYMENT_DETAIL_STATUSES, type PaymentDetailStatus } from "../payment-details/model.ts";
import { renderPaymentDetailEvent } from "../payment-details/render.ts";
import { KYC_STATUSES, type KycStatus } from "../users/model.ts";
import { renderKycEvent } from "../users/render.ts";
import {
  type SampleKeys,
  sampleInvoice,
  sampleOfframp,
  sampleOnramp,
  samplePaymentDetail,
  sampleUser,
} from "./sample-records.ts";

const SAMPLE_STATUSES: readonly InvoiceStatus[] = INVOICE_STATUSES.filter(isIssued);

// Samples have no document and no links, so neither needs the service's URL.
const offramps = createOfframpRenderer(() => "", { now: () => new Date() });
const invoices = createInvoiceRenderer({
  public_url: () => "",
  index_key: Buffer.alloc(0),
  mode: "sandbox",
});

/** The states that a sample may show (the first by default), and its renderer. */
const RAMP_SAMPLES: Record<
  RampEvent,
  { statuses: readonly string[]; write: (keys: SampleKeys, status: string) => string }
> = {
  offramp_update: {
    statuses: OFFRAMP_STATUSES,
    write: (keys, status) => offramps.event(sampleOfframp(keys, status as OfframpStatus)),
  },
  payment_detail_update: {
    statuses: PAYMENT_DETAIL_STATUSES,
    write: (keys, status) =>
      renderPaymentDetailEvent(samplePaymentDetail(keys, status as PaymentDetailStatus)),
  },
  kyc_update: {
    statuses: KYC_STATUSES,
    write: (keys, status) => renderKycEvent(sampleUser(keys, status as KycStatus)),
  },
  onramp_update: {
    statuses: ONRAMP_STATUSES,
    write: (keys, status) => renderOnrampEvent(sampleOnramp(keys, status as OnrampStatus)),
  },
};

export function sampleStatuses(name: EventName): readonly string[] {
  return isRamp(name) ? RAMP_SAMPLES[name].statuses : SAMPLE_STATUSES;
}

/** A sample event, rendered by the code that renders the real ones. */
export function sampleEvent(name: EventName, wanted: string | null, keys: SampleKeys): string {
  if (isRamp(name)) {
    const { statuses, write } = RAMP_SAMPLES[name];
    return write(keys, wanted ?? statuses[0]!);
  }
  const status = (wanted as InvoiceStatus | null) ?? STATUS_AFTER[name];
  const { entry, change } = sampleInvoice(keys, name, status);
  return invoices.event(change, entry, "seller");
}

function isRamp(name: EventName): name is RampEvent {
  return (RAMP_EVENTS as readonly string[]).includes(name);
}
