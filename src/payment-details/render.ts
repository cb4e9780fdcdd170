import type { Static } from "typebox";
import type { RequirementRow } from "../catalogue/catalogue.ts";
import { formatDate } from "../catalogue/dates.ts";
import type { Problem } from "../platform/errors.ts";
import { compileRender } from "../platform/http/render.ts";
import type { PaymentDetail } from "./model.ts";
import {
  PaymentDetailAnswer,
  PaymentDetailEvent,
  PaymentDetailListAnswer,
  type PaymentDetailRecord,
  RequirementsAnswer,
  ValidationAnswer,
} from "./schemas.ts";

const writeDetail = compileRender(PaymentDetailAnswer);
const writeDetails = compileRender(PaymentDetailListAnswer);
const writeEvent = compileRender(PaymentDetailEvent);
const writeValidation = compileRender(ValidationAnswer);
const writeRequirements = compileRender(RequirementsAnswer);

export function renderPaymentDetail(detail: PaymentDetail): string {
  return writeDetail({ payment_detail: toRecord(detail) });
}

export function renderPaymentDetails(details: readonly PaymentDetail[], has_more: boolean): string {
  return writeDetails({ payment_details: details.map(toRecord), has_more });
}

/** The body of the event for a status change. */
export function renderPaymentDetailEvent(detail: PaymentDetail): string {
  return writeEvent({
    event: "payment_detail_update",
    timestamp: detail.updated_at.getTime(),
    payload: { payment_detail: toRecord(detail) },
  });
}

export function renderValidation(problems: readonly Problem[]): string {
  const errors = problems.map((problem) => ({ ...problem }));
  return writeValidation({ payment_detail: { valid: errors.length === 0, errors } });
}

export function renderRequirements(rows: RequirementRow[]): string {
  return writeRequirements({ payment_detail_requirements: rows });
}

function toRecord(detail: PaymentDetail): Static<typeof PaymentDetailRecord> {
  const { fields } = detail;
  return {
    ...fields,
    id: detail.id,
    user_id: detail.user_id,
    status: detail.status,
    date_of_birth: fields.date_of_birth && formatDate(fields.date_of_birth),
    metadata: fields.metadata ?? {},
    created_at: detail.created_at.toISOString(),
    updated_at: detail.updated_at.toISOString(),
  } as Static<typeof PaymentDetailRecord>;
}
