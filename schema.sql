-- The migrated database. Written by npm run generate; change a migration instead.

create table account_controls (
  account_id uuid not null,
  approval_above_usd bigint,
  mac bytea,
  constraint account_controls_pkey PRIMARY KEY (account_id),
  constraint account_controls_approval_above_usd_check CHECK ((approval_above_usd >= 0)),
  constraint account_controls_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table account_keys (
  account_id uuid not null,
  version integer not null,
  master_key_id text not null,
  wrapped bytea not null,
  created_at timestamp with time zone not null,
  constraint account_keys_pkey PRIMARY KEY (account_id, version),
  constraint account_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table accounts (
  id uuid not null,
  name text not null,
  is_operator boolean not null,
  created_at timestamp with time zone not null,
  kyc_two_person_approval boolean not null default false,
  kyc_review_by_account boolean not null default false,
  webhooks_enabled_at timestamp with time zone,
  frozen_at timestamp with time zone,
  document_review_by_account boolean not null default false,
  mac bytea,
  constraint accounts_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX accounts_name ON public.accounts USING btree (name);
CREATE UNIQUE INDEX accounts_operator ON public.accounts USING btree (is_operator) WHERE is_operator;

create table api_key_hashes (
  key_hash bytea not null,
  account_id uuid not null,
  api_key_id uuid not null,
  mac bytea,
  constraint api_key_hashes_pkey PRIMARY KEY (key_hash)
);

create table api_key_uses (
  account_id uuid not null,
  api_key_id uuid not null,
  used_at timestamp with time zone not null,
  constraint api_key_uses_pkey PRIMARY KEY (account_id, api_key_id),
  constraint api_key_uses_account_id_api_key_id_fkey FOREIGN KEY (account_id, api_key_id) REFERENCES api_keys(account_id, id)
);

create table api_keys (
  account_id uuid not null,
  id uuid not null,
  name text not null,
  prefix text not null,
  last_four text not null,
  created_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  created_by_person uuid,
  scopes text[],
  networks text[],
  expires_at timestamp with time zone,
  mac bytea,
  constraint api_keys_pkey PRIMARY KEY (account_id, id),
  constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint api_keys_created_by_person_fkey FOREIGN KEY (created_by_person) REFERENCES people(id)
);

create table app_grants (
  account_id uuid not null,
  app_id uuid not null,
  app_account_id uuid not null,
  person_id uuid not null,
  created_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  redirect_uri text,
  constraint app_grants_pkey PRIMARY KEY (account_id, app_id, person_id),
  constraint app_grants_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint app_grants_account_id_person_id_fkey FOREIGN KEY (account_id, person_id) REFERENCES members(account_id, person_id) ON DELETE CASCADE
);
CREATE INDEX app_grants_person ON public.app_grants USING btree (person_id);

create table app_ids (
  id uuid not null,
  account_id uuid not null,
  constraint app_ids_pkey PRIMARY KEY (id)
);

create table apps (
  account_id uuid not null,
  id uuid not null,
  name text not null,
  flow text not null,
  client_secret_hash bytea not null,
  client_secret_last_four text not null,
  redirect_uris text[] not null,
  used_at timestamp with time zone,
  webhook_url text,
  webhook_secret bytea,
  webhook_secret_next bytea,
  webhook_secret_switch_at timestamp with time zone,
  webhook_headers bytea,
  events text[] not null,
  is_ordered boolean not null,
  webhook_state text not null,
  webhook_state_reason text,
  failing_since timestamp with time zone,
  circuit_failures integer not null default 0,
  circuit_until timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  webhook_version integer not null default 0,
  failures_in_a_row integer not null default 0,
  failed_at timestamp with time zone,
  constraint apps_pkey PRIMARY KEY (account_id, id),
  constraint apps_check CHECK (((webhook_secret_next IS NULL) = (webhook_secret_switch_at IS NULL))),
  constraint apps_flow_check CHECK ((flow = ANY (ARRAY['authorization_code'::text, 'client_credentials'::text]))),
  constraint apps_webhook_state_check CHECK ((webhook_state = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text]))),
  constraint apps_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX apps_list ON public.apps USING btree (account_id, id) WHERE (deleted_at IS NULL);

create table archives (
  account_id uuid not null,
  table_name text not null,
  number bigint not null,
  name text not null,
  first_id uuid not null,
  last_id uuid not null,
  row_count integer not null,
  sha256 bytea not null,
  previous bytea,
  created_at timestamp with time zone not null,
  mac bytea not null,
  constraint archives_pkey PRIMARY KEY (account_id, table_name, number),
  constraint archives_check CHECK (((previous IS NULL) = (number = 1))),
  constraint archives_number_check CHECK ((number > 0)),
  constraint archives_row_count_check CHECK ((row_count > 0)),
  constraint archives_table_name_check CHECK ((table_name = ANY (ARRAY['events'::text, 'webhook_deliveries'::text, 'event_rows'::text]))),
  constraint archives_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table attempts (
  window_ends_at timestamp with time zone not null,
  caller_hash bytea not null,
  failed integer not null,
  under_way integer not null,
  constraint attempts_pkey PRIMARY KEY (window_ends_at, caller_hash),
  constraint attempts_check CHECK (((failed >= 0) AND (under_way >= 0)))
);

create table audit_entries (
  account_id uuid not null,
  id uuid not null,
  at timestamp with time zone not null,
  actor text not null,
  action text not null,
  record text not null,
  reason text not null,
  detail text not null,
  mac bytea,
  constraint audit_entries_pkey PRIMARY KEY (account_id, id),
  constraint audit_entries_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX audit_entries_acts ON public.audit_entries USING btree (account_id, record, action, id);
CREATE INDEX audit_entries_record ON public.audit_entries USING btree (account_id, record, id);

create table bank_ach_batches (
  file_id uuid not null,
  number integer not null,
  entry_class text not null,
  offset_sequence integer,
  payments integer not null,
  amount bigint not null,
  constraint bank_ach_batches_pkey PRIMARY KEY (file_id, number),
  constraint bank_ach_batches_amount_check CHECK ((amount > 0)),
  constraint bank_ach_batches_entry_class_check CHECK ((entry_class = ANY (ARRAY['PPD'::text, 'CCD'::text]))),
  constraint bank_ach_batches_number_check CHECK ((number >= 1)),
  constraint bank_ach_batches_payments_check CHECK ((payments > 0)),
  constraint bank_ach_batches_file_id_fkey FOREIGN KEY (file_id) REFERENCES bank_files(id) ON DELETE CASCADE
);

create table bank_answers (
  account_id uuid not null,
  bank_reference text not null,
  end_to_end_id text not null,
  kind text not null,
  amount bigint,
  currency text,
  outcome text not null,
  created_at timestamp with time zone not null,
  id uuid not null default gen_random_uuid(),
  held bigint not null default 0,
  status text,
  resolution text,
  reason text,
  assigned_offramp_id uuid,
  assigned_attempt integer,
  returns integer not null default 0,
  updated_at timestamp with time zone,
  given_back bigint,
  refund_rate numeric,
  bank_account text,
  mac bytea,
  constraint bank_answers_pkey PRIMARY KEY (account_id, bank_reference),
  constraint bank_answers_given_back_check CHECK ((given_back >= 0)),
  constraint bank_answers_held_check CHECK ((held >= 0)),
  constraint bank_answers_kind_check CHECK ((kind = ANY (ARRAY['booked'::text, 'returned'::text, 'rejected'::text]))),
  constraint bank_answers_resolution_check CHECK ((resolution = ANY (ARRAY['assign'::text, 'return'::text, 'write_off'::text, 'dismiss'::text]))),
  constraint bank_answers_status_check CHECK ((status = ANY (ARRAY['open'::text, 'returning'::text, 'resolved'::text]))),
  constraint bank_answers_status_check1 CHECK (((outcome = 'applied'::text) = (status IS NULL))),
  constraint bank_answers_account_id_assigned_offramp_id_fkey FOREIGN KEY (account_id, assigned_offramp_id) REFERENCES offramps(account_id, id)
);
CREATE INDEX bank_answers_assigned ON public.bank_answers USING btree (account_id, assigned_offramp_id) WHERE (assigned_offramp_id IS NOT NULL);
CREATE INDEX bank_answers_exceptions ON public.bank_answers USING btree (id) WHERE (outcome <> 'applied'::text);
CREATE INDEX bank_answers_open ON public.bank_answers USING btree (id) WHERE (status = 'open'::text);

create table bank_corrections (
  account_id uuid not null,
  number bigint not null generated always as identity,
  end_to_end_id text not null,
  report_digest bytea not null,
  code text not null,
  received_at timestamp with time zone not null,
  details bytea not null,
  state text not null,
  settled_at timestamp with time zone,
  constraint bank_corrections_pkey PRIMARY KEY (account_id, end_to_end_id, code),
  constraint bank_corrections_number_key UNIQUE (number),
  constraint bank_corrections_state_check CHECK ((state = ANY (ARRAY['open'::text, 'settled'::text]))),
  constraint bank_corrections_account_id_end_to_end_id_fkey FOREIGN KEY (account_id, end_to_end_id) REFERENCES bank_payments(account_id, end_to_end_id),
  constraint bank_corrections_report_digest_fkey FOREIGN KEY (report_digest) REFERENCES bank_reports(digest)
);
CREATE INDEX bank_corrections_of_report ON public.bank_corrections USING btree (report_digest);
CREATE INDEX bank_corrections_open ON public.bank_corrections USING btree (number) WHERE (state = 'open'::text);
CREATE INDEX bank_corrections_settled ON public.bank_corrections USING btree (received_at) WHERE (state = 'settled'::text);

create table bank_downloads (
  source text not null,
  name text not null,
  size bigint not null,
  mtime bigint not null,
  fetched_at timestamp with time zone not null,
  constraint bank_downloads_pkey PRIMARY KEY (source, name, size, mtime)
);

create table bank_file_answers (
  account_id uuid not null,
  bank_reference text not null,
  number bigint not null generated always as identity,
  end_to_end_id text not null,
  kind text not null,
  amount bigint not null,
  currency text not null,
  trace_number text,
  uetr text,
  reason_codes text[] not null,
  bank_account text,
  paid_from text,
  mac bytea,
  is_unproven boolean not null default false,
  constraint bank_file_answers_pkey PRIMARY KEY (account_id, bank_reference),
  constraint bank_file_answers_number_key UNIQUE (number),
  constraint bank_file_answers_kind_check CHECK ((kind = ANY (ARRAY['booked'::text, 'returned'::text, 'rejected'::text]))),
  constraint bank_file_answers_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX bank_file_answers_of_payment ON public.bank_file_answers USING btree (end_to_end_id);
CREATE INDEX bank_file_answers_unproven ON public.bank_file_answers USING btree (number) WHERE is_unproven;

create table bank_files (
  id uuid not null,
  bank_account text not null,
  scheme text not null,
  window_day date not null,
  window_number integer not null,
  closes_at timestamp with time zone not null,
  execution_date date not null,
  state text not null,
  state_since timestamp with time zone not null,
  message_id text not null,
  created_at timestamp with time zone,
  payments integer,
  control_sum text,
  temporary_name text,
  digest bytea,
  modifier text,
  revision integer not null default 0,
  constraint bank_files_pkey PRIMARY KEY (id),
  constraint bank_files_bank_account_scheme_window_day_window_number_key UNIQUE (bank_account, scheme, window_day, window_number),
  constraint bank_files_message_id_key UNIQUE (message_id),
  constraint bank_files_check CHECK (((state = 'open'::text) = (created_at IS NULL))),
  constraint bank_files_check1 CHECK (((created_at IS NULL) = (payments IS NULL))),
  constraint bank_files_check2 CHECK (((created_at IS NULL) = (control_sum IS NULL))),
  constraint bank_files_check3 CHECK (((state = ANY (ARRAY['placing'::text, 'written'::text])) = (temporary_name IS NOT NULL))),
  constraint bank_files_check4 CHECK (((temporary_name IS NULL) = (digest IS NULL))),
  constraint bank_files_message_id_check CHECK (((length(message_id) >= 1) AND (length(message_id) <= 35))),
  constraint bank_files_modifier_check CHECK ((modifier ~ '^[A-Z0-9]$'::text)),
  constraint bank_files_payments_check CHECK ((payments > 0)),
  constraint bank_files_scheme_check CHECK ((scheme = ANY (ARRAY['sepa'::text, 'swift'::text, 'us_wire'::text, 'ach'::text]))),
  constraint bank_files_state_check CHECK ((state = ANY (ARRAY['open'::text, 'closed'::text, 'placing'::text, 'written'::text]))),
  constraint bank_files_window_number_check CHECK ((window_number >= 1))
);
CREATE INDEX bank_files_unwritten ON public.bank_files USING btree (closes_at, id) WHERE (state <> 'written'::text);

create table bank_lines (
  bank_account text not null,
  entry_key text not null,
  part integer not null,
  parts integer not null,
  number bigint not null generated always as identity,
  report_digest bytea not null,
  kind text not null,
  amount bigint not null,
  currency text not null,
  booked_on date,
  state text not null,
  problem text,
  details bytea,
  settled_at timestamp with time zone,
  answer_references text[] not null default '{}'::text[],
  named_ids text[],
  line_reference text,
  constraint bank_lines_pkey PRIMARY KEY (bank_account, entry_key, part),
  constraint bank_lines_number_key UNIQUE (number),
  constraint bank_lines_amount_check CHECK ((amount >= 0)),
  constraint bank_lines_check CHECK ((parts > part)),
  constraint bank_lines_check1 CHECK (((details IS NOT NULL) OR (state <> 'unmatched'::text))),
  constraint bank_lines_kind_check CHECK ((kind = ANY (ARRAY['booked'::text, 'returned'::text, 'incoming'::text, 'taken_back'::text, 'charge'::text]))),
  constraint bank_lines_part_check CHECK ((part >= 0)),
  constraint bank_lines_problem_check CHECK (((problem IS NULL) = (state = ANY (ARRAY['answer'::text, 'credit'::text])))),
  constraint bank_lines_state_check CHECK ((state = ANY (ARRAY['answer'::text, 'credit'::text, 'unmatched'::text, 'settled'::text, 'treasury'::text]))),
  constraint bank_lines_report_digest_fkey FOREIGN KEY (report_digest) REFERENCES bank_reports(digest)
);
CREATE INDEX bank_lines_credits ON public.bank_lines USING btree (number) WHERE (state = 'credit'::text);
CREATE INDEX bank_lines_detailed ON public.bank_lines USING btree (booked_on) WHERE ((details IS NOT NULL) AND (state <> 'unmatched'::text));
CREATE INDEX bank_lines_named ON public.bank_lines USING gin (named_ids) WHERE (named_ids IS NOT NULL);
CREATE INDEX bank_lines_of_report ON public.bank_lines USING btree (report_digest);
CREATE INDEX bank_lines_references ON public.bank_lines USING btree (bank_account, line_reference) WHERE ((line_reference IS NOT NULL) AND (kind = ANY (ARRAY['incoming'::text, 'returned'::text])));
CREATE INDEX bank_lines_taken_back ON public.bank_lines USING btree (bank_account, amount) WHERE ((kind = 'taken_back'::text) AND (state = 'unmatched'::text));
CREATE INDEX bank_lines_unmatched ON public.bank_lines USING btree (number) WHERE (state = 'unmatched'::text);

create table bank_payments (
  account_id uuid not null,
  end_to_end_id text not null,
  number bigint not null generated always as identity,
  file_id uuid not null,
  amount bigint not null,
  currency text not null,
  uetr uuid not null,
  details bytea,
  entry_class text,
  short_id text,
  batch_number integer,
  trace_number text,
  paid_from_day date,
  constraint bank_payments_pkey PRIMARY KEY (account_id, end_to_end_id),
  constraint bank_payments_end_to_end_id_key UNIQUE (end_to_end_id),
  constraint bank_payments_file_id_trace_number_key UNIQUE (file_id, trace_number),
  constraint bank_payments_number_key UNIQUE (number),
  constraint bank_payments_short_id_key UNIQUE (short_id),
  constraint bank_payments_uetr_key UNIQUE (uetr),
  constraint bank_payments_amount_check CHECK ((amount > 0)),
  constraint bank_payments_check CHECK (((entry_class IS NULL) = (short_id IS NULL))),
  constraint bank_payments_entry_class_check CHECK ((entry_class = ANY (ARRAY['PPD'::text, 'CCD'::text]))),
  constraint bank_payments_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint bank_payments_file_id_fkey FOREIGN KEY (file_id) REFERENCES bank_files(id)
);
CREATE INDEX bank_payments_ach_amounts ON public.bank_payments USING btree (amount) WHERE (short_id IS NOT NULL);
CREATE INDEX bank_payments_of_file ON public.bank_payments USING btree (file_id, number);
CREATE INDEX bank_payments_traces ON public.bank_payments USING btree (trace_number) WHERE (trace_number IS NOT NULL);

create table bank_reconciliations (
  bank_account text not null,
  currency text not null,
  closed_on date not null,
  balance numeric not null,
  difference numeric not null,
  is_tampered boolean not null,
  at timestamp with time zone not null,
  constraint bank_reconciliations_pkey PRIMARY KEY (bank_account, currency)
);

create table bank_reports (
  digest bytea not null,
  name text not null,
  read_at timestamp with time zone not null,
  constraint bank_reports_pkey PRIMARY KEY (digest)
);

create table bank_returns (
  key text not null,
  number bigint not null generated always as identity,
  bank_account text,
  bank_reference text not null,
  amount bigint not null,
  currency text not null,
  state text not null,
  end_to_end_id text,
  problem text,
  created_at timestamp with time zone not null,
  constraint bank_returns_pkey PRIMARY KEY (key),
  constraint bank_returns_end_to_end_id_key UNIQUE (end_to_end_id),
  constraint bank_returns_number_key UNIQUE (number),
  constraint bank_returns_amount_check CHECK ((amount > 0)),
  constraint bank_returns_check CHECK (((end_to_end_id IS NULL) = (problem IS NOT NULL))),
  constraint bank_returns_state_check CHECK ((state = ANY (ARRAY['sent'::text, 'by_hand'::text, 'booked'::text, 'refused'::text])))
);
CREATE INDEX bank_returns_by_hand ON public.bank_returns USING btree (number) WHERE (state = 'by_hand'::text);

create table bank_set_aside (
  name text not null,
  digest bytea not null,
  problem text not null,
  since timestamp with time zone not null,
  constraint bank_set_aside_pkey PRIMARY KEY (name)
);

create table bank_statement_entries (
  statement_number bigint not null,
  place integer not null,
  entry_key text not null,
  amount bigint not null,
  booked_on date,
  constraint bank_statement_entries_pkey PRIMARY KEY (statement_number, place),
  constraint bank_statement_entries_place_check CHECK ((place >= 0)),
  constraint bank_statement_entries_statement_number_fkey FOREIGN KEY (statement_number) REFERENCES bank_statements(number)
);
CREATE INDEX bank_statement_entries_keys ON public.bank_statement_entries USING btree (entry_key);

create table bank_statements (
  number bigint not null generated always as identity,
  report_digest bytea not null,
  bank_account text not null,
  statement_id text,
  sequence text,
  page text,
  is_last_page boolean,
  currency text not null,
  opening bigint,
  opened_on date,
  closing bigint,
  closed_on date,
  entries integer not null,
  mac bytea not null,
  constraint bank_statements_pkey PRIMARY KEY (number),
  constraint bank_statements_entries_check CHECK ((entries >= 0)),
  constraint bank_statements_report_digest_fkey FOREIGN KEY (report_digest) REFERENCES bank_reports(digest)
);
CREATE INDEX bank_statements_of_account ON public.bank_statements USING btree (bank_account, number);
CREATE INDEX bank_statements_of_report ON public.bank_statements USING btree (report_digest);

create table bank_traces (
  originating_bank text not null,
  last_sequence integer not null,
  constraint bank_traces_pkey PRIMARY KEY (originating_bank),
  constraint bank_traces_last_sequence_check CHECK (((last_sequence >= 0) AND (last_sequence <= 9999999)))
);

create table bank_unmatched_statuses (
  report_digest bytea not null,
  number bigint not null generated always as identity,
  level text not null,
  status text not null,
  message_id text,
  batch_id text,
  end_to_end_id text,
  reason_codes text[] not null,
  problem text not null,
  amount bigint,
  trace_number text,
  settled_at timestamp with time zone,
  constraint bank_unmatched_statuses_pkey PRIMARY KEY (number),
  constraint bank_unmatched_statuses_level_check CHECK ((level = ANY (ARRAY['file'::text, 'batch'::text, 'payment'::text]))),
  constraint bank_unmatched_statuses_report_digest_fkey FOREIGN KEY (report_digest) REFERENCES bank_reports(digest)
);
CREATE INDEX bank_unmatched_statuses_of_report ON public.bank_unmatched_statuses USING btree (report_digest);
CREATE INDEX bank_unmatched_statuses_open ON public.bank_unmatched_statuses USING btree (number) WHERE (settled_at IS NULL);

create table billing_emails (
  account_id uuid not null,
  email bytea not null,
  email_index bytea not null,
  verified_at timestamp with time zone,
  created_at timestamp with time zone not null,
  constraint billing_emails_pkey PRIMARY KEY (account_id),
  constraint billing_emails_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE UNIQUE INDEX billing_emails_index ON public.billing_emails USING btree (email_index);

create table chain_reconciliations (
  chain text not null,
  currency text not null,
  block_number bigint not null,
  unexplained numeric not null,
  at timestamp with time zone not null,
  constraint chain_reconciliations_pkey PRIMARY KEY (chain, currency)
);

create table commands (
  account_id uuid not null,
  id uuid not null,
  idempotency_index bytea,
  request_hash bytea,
  subject_id uuid,
  answer bytea,
  created_at timestamp with time zone not null,
  constraint commands_pkey PRIMARY KEY (account_id, id),
  constraint commands_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint commands_account_id_subject_id_fkey FOREIGN KEY (account_id, subject_id) REFERENCES subject_keys(account_id, subject_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
CREATE UNIQUE INDEX commands_idempotency ON public.commands USING btree (account_id, idempotency_index) WHERE (idempotency_index IS NOT NULL);
CREATE INDEX commands_subject ON public.commands USING btree (account_id, subject_id) WHERE (subject_id IS NOT NULL);
CREATE INDEX commands_unkeyed ON public.commands USING btree (account_id, created_at) WHERE (idempotency_index IS NULL);

create table deposit_addresses (
  chain text not null,
  address text not null,
  account_id uuid not null,
  quote_id uuid not null,
  constraint deposit_addresses_pkey PRIMARY KEY (chain, address)
);

create table deposit_codes (
  code text not null,
  account_id uuid not null,
  onramp_id uuid not null,
  constraint deposit_codes_pkey PRIMARY KEY (code),
  constraint deposit_codes_onramp_id_key UNIQUE (onramp_id)
);

create table deposits (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  quote_id uuid not null,
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  token text not null,
  amount bigint not null,
  mined_at timestamp with time zone not null,
  created_at timestamp with time zone not null,
  sender text,
  mac bytea,
  constraint deposits_pkey PRIMARY KEY (account_id, id),
  constraint deposits_amount_check CHECK ((amount > 0)),
  constraint deposits_account_id_quote_id_fkey FOREIGN KEY (account_id, quote_id) REFERENCES quotes(account_id, id)
);
CREATE INDEX deposits_list ON public.deposits USING btree (account_id, user_id, id);
CREATE INDEX deposits_quote ON public.deposits USING btree (account_id, quote_id, id);
CREATE INDEX deposits_sender ON public.deposits USING btree (account_id, user_id, sender);
CREATE UNIQUE INDEX deposits_transfer ON public.deposits USING btree (account_id, chain, tx_id, log_index);

create table documents (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  file text not null,
  hash bytea not null,
  type text not null,
  created_at timestamp with time zone not null,
  constraint documents_pkey PRIMARY KEY (account_id, id),
  constraint documents_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);

create table event_cursors (
  account_id uuid not null,
  block_number bigint not null,
  "position" bigint not null,
  trimmed_id uuid,
  constraint event_cursors_pkey PRIMARY KEY (account_id),
  constraint event_cursors_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table event_positions (
  account_id uuid not null,
  "position" bigint not null,
  event_id uuid not null,
  name text not null,
  constraint event_positions_pkey PRIMARY KEY (account_id, "position")
);
CREATE INDEX event_positions_by_name ON public.event_positions USING btree (account_id, name, "position");
CREATE UNIQUE INDEX event_positions_event ON public.event_positions USING btree (account_id, event_id);

create table events (
  account_id uuid not null,
  id uuid not null,
  name text not null,
  record_id uuid not null,
  sequence integer not null,
  from_status text,
  to_status text not null,
  facts bytea not null,
  subject_id uuid,
  body bytea,
  created_at timestamp with time zone not null,
  change_id uuid,
  role text,
  app_id uuid,
  counterpart_account_id uuid,
  trace_id uuid,
  actor text,
  mac bytea,
  constraint events_pkey PRIMARY KEY (account_id, id),
  constraint events_check CHECK (((change_id IS NULL) = (role IS NULL))),
  constraint events_role_check CHECK ((role = ANY (ARRAY['seller'::text, 'buyer'::text])))
);
CREATE UNIQUE INDEX events_sequence ON public.events USING btree (record_id, account_id, sequence);

create table evm_addresses (
  address text not null,
  wallet text not null,
  address_index bigint not null,
  chain text not null,
  created_at timestamp with time zone not null,
  constraint evm_addresses_pkey PRIMARY KEY (address),
  constraint evm_addresses_wallet_address_index_key UNIQUE (wallet, address_index),
  constraint evm_addresses_address_index_check CHECK (((address_index >= 0) AND (address_index <= 2147483647)))
);

create table evm_attempts (
  key text not null,
  attempt integer not null,
  is_cancel boolean not null default false,
  max_fee numeric not null,
  priority_fee numeric not null,
  planned_at timestamp with time zone not null,
  raw text,
  tx_id text,
  tried_at timestamp with time zone,
  accepted_at timestamp with time zone,
  accepted_block bigint,
  answer text,
  constraint evm_attempts_pkey PRIMARY KEY (key, attempt),
  constraint evm_attempts_tx_id_key UNIQUE (tx_id),
  constraint evm_attempts_attempt_check CHECK ((attempt >= 1)),
  constraint evm_attempts_check CHECK (((priority_fee >= (0)::numeric) AND (priority_fee <= max_fee))),
  constraint evm_attempts_check1 CHECK (((raw IS NULL) = (tx_id IS NULL))),
  constraint evm_attempts_check2 CHECK (((tried_at IS NULL) OR (raw IS NOT NULL))),
  constraint evm_attempts_max_fee_check CHECK ((max_fee > (0)::numeric)),
  constraint evm_attempts_key_fkey FOREIGN KEY (key) REFERENCES evm_sends(key)
);

create table evm_chains (
  chain text not null,
  chain_id bigint not null,
  scanned_block bigint not null,
  scanned_hash text not null,
  scanned_at timestamp with time zone not null,
  final_block bigint not null,
  reread_from bigint not null,
  reread_to bigint not null,
  reread_at timestamp with time zone not null,
  state text not null,
  state_since timestamp with time zone not null,
  problem text,
  answer_ms integer not null default 0,
  constraint evm_chains_pkey PRIMARY KEY (chain),
  constraint evm_chains_state_check CHECK ((state = ANY (ARRAY['reading'::text, 'current'::text, 'unreachable'::text, 'disagreeing'::text, 'reorganised'::text, 'misconfigured'::text])))
);

create table evm_senders (
  chain text not null,
  address text not null,
  is_treasury boolean not null default false,
  next_nonce bigint,
  state text not null,
  state_since timestamp with time zone not null,
  problem text,
  mined_nonce bigint,
  balance numeric,
  base_fee numeric,
  checked_at timestamp with time zone,
  constraint evm_senders_pkey PRIMARY KEY (chain, address),
  constraint evm_senders_next_nonce_check CHECK ((next_nonce >= 0)),
  constraint evm_senders_state_check CHECK ((state = ANY (ARRAY['sending'::text, 'waiting'::text, 'unreachable'::text, 'disagreeing'::text, 'misconfigured'::text, 'stopped'::text])))
);
CREATE INDEX evm_senders_reported ON public.evm_senders USING btree (chain, address) WHERE (is_treasury OR (problem IS NOT NULL));

create table evm_sends (
  key text not null,
  number bigint not null generated always as identity,
  chain text not null,
  sender text not null,
  address_index bigint,
  action jsonb not null,
  state text not null,
  state_since timestamp with time zone not null,
  created_at timestamp with time zone not null,
  asked_at timestamp with time zone,
  retry_at timestamp with time zone,
  problem text,
  is_cancelled boolean not null default false,
  nonce bigint,
  gas bigint,
  tx_id text,
  block_number bigint,
  block_hash text,
  gas_cost numeric,
  is_gas_booked boolean not null default false,
  planned_block bigint,
  mac bytea,
  constraint evm_sends_pkey PRIMARY KEY (key),
  constraint evm_sends_chain_sender_nonce_key UNIQUE (chain, sender, nonce),
  constraint evm_sends_check CHECK (
CASE state
    WHEN 'queued'::text THEN (nonce IS NULL)
    WHEN 'refused'::text THEN true
    ELSE (nonce IS NOT NULL)
END),
  constraint evm_sends_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'planned'::text, 'signed'::text, 'broadcast'::text, 'mined'::text, 'final'::text, 'refused'::text]))),
  constraint evm_sends_chain_sender_fkey FOREIGN KEY (chain, sender) REFERENCES evm_senders(chain, address)
);
CREATE INDEX evm_sends_open ON public.evm_sends USING btree (chain, sender, number) WHERE (state <> ALL (ARRAY['final'::text, 'refused'::text]));
CREATE UNIQUE INDEX evm_sends_planned ON public.evm_sends USING btree (chain, sender) WHERE (state = 'planned'::text);
CREATE INDEX evm_sends_unbooked ON public.evm_sends USING btree (number) WHERE ((gas_cost IS NOT NULL) AND (NOT is_gas_booked));

create table evm_sweeps (
  number bigint not null generated always as identity,
  chain text not null,
  address text not null,
  token text not null,
  contract text not null,
  amount numeric not null,
  millionths numeric not null,
  method text not null,
  state text not null,
  state_since timestamp with time zone not null,
  created_at timestamp with time zone not null,
  authorization_nonce text,
  is_authorization_refused boolean not null default false,
  top_ups integer not null default 0,
  problem text,
  retry_at timestamp with time zone,
  constraint evm_sweeps_pkey PRIMARY KEY (number),
  constraint evm_sweeps_amount_check CHECK ((amount > (0)::numeric)),
  constraint evm_sweeps_check CHECK (((method = 'top_up'::text) OR (authorization_nonce IS NOT NULL))),
  constraint evm_sweeps_method_check CHECK ((method = ANY (ARRAY['top_up'::text, 'authorization'::text]))),
  constraint evm_sweeps_millionths_check CHECK ((millionths > (0)::numeric)),
  constraint evm_sweeps_state_check CHECK ((state = ANY (ARRAY['open'::text, 'final'::text, 'failed'::text, 'given_up'::text]))),
  constraint evm_sweeps_address_fkey FOREIGN KEY (address) REFERENCES evm_addresses(address)
);
CREATE UNIQUE INDEX evm_sweeps_open ON public.evm_sweeps USING btree (chain, address) WHERE (state = ANY (ARRAY['open'::text, 'failed'::text]));
CREATE INDEX evm_sweeps_refused ON public.evm_sweeps USING btree (chain, contract) WHERE is_authorization_refused;

create table evm_transfers (
  number bigint not null generated always as identity,
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  block_number bigint not null,
  block_hash text not null,
  address text not null,
  sender text not null,
  token text not null,
  amount numeric not null,
  mined_at timestamp with time zone not null,
  finding text,
  sweep bigint,
  mac bytea,
  constraint evm_transfers_pkey PRIMARY KEY (number),
  constraint evm_transfers_chain_tx_id_log_index_block_hash_key UNIQUE (chain, tx_id, log_index, block_hash),
  constraint evm_transfers_amount_check CHECK ((amount > (0)::numeric)),
  constraint evm_transfers_finding_check CHECK ((finding = ANY (ARRAY['other_token'::text, 'other_chain'::text, 'balance_mismatch'::text, 'reorganised'::text, 'vanished'::text, 'unproven'::text]))),
  constraint evm_transfers_sweep_fkey FOREIGN KEY (sweep) REFERENCES evm_sweeps(number)
);
CREATE INDEX evm_transfers_address ON public.evm_transfers USING btree (address);
CREATE INDEX evm_transfers_block ON public.evm_transfers USING btree (chain, block_number);
CREATE INDEX evm_transfers_creditable ON public.evm_transfers USING btree (chain, number) WHERE (finding IS NULL);
CREATE INDEX evm_transfers_findings ON public.evm_transfers USING btree (number) WHERE (finding IS NOT NULL);
CREATE INDEX evm_transfers_sweep ON public.evm_transfers USING btree (sweep) WHERE (sweep IS NOT NULL);
CREATE INDEX evm_transfers_unswept ON public.evm_transfers USING btree (chain, address, token) WHERE ((finding IS NULL) AND (sweep IS NULL));

create table exception_decisions (
  account_id uuid not null,
  id uuid not null,
  exception_account_id uuid not null,
  command text not null,
  created_at timestamp with time zone not null,
  mac bytea not null,
  constraint exception_decisions_pkey PRIMARY KEY (account_id, id)
);

create table exception_outcomes (
  account_id uuid not null,
  id uuid not null,
  result text not null,
  created_at timestamp with time zone not null,
  mac bytea not null,
  constraint exception_outcomes_pkey PRIMARY KEY (account_id, id)
);

create table exports (
  account_id uuid not null,
  id uuid not null,
  kind text not null,
  format text not null,
  period_from timestamp with time zone not null,
  period_to timestamp with time zone not null,
  requested_by text not null,
  status text not null,
  file text,
  row_count bigint,
  byte_count bigint,
  digest bytea,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint exports_pkey PRIMARY KEY (account_id, id),
  constraint exports_check CHECK ((period_from < period_to)),
  constraint exports_check2 CHECK (((status = 'ready'::text) = (file IS NOT NULL))),
  constraint exports_digest_check CHECK (
CASE status
    WHEN 'pending'::text THEN (digest IS NULL)
    WHEN 'ready'::text THEN (digest IS NOT NULL)
    ELSE true
END),
  constraint exports_format_check CHECK ((format = ANY (ARRAY['csv'::text, 'jsonl'::text]))),
  constraint exports_kind_check CHECK ((kind = ANY (ARRAY['payouts'::text, 'ledger'::text, 'deposits'::text, 'audit_log'::text, 'approvals'::text]))),
  constraint exports_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'ready'::text, 'removed'::text]))),
  constraint exports_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX exports_digest ON public.exports USING btree (digest) WHERE (digest IS NOT NULL);
CREATE INDEX exports_status ON public.exports USING btree (account_id, status, id);

create table exposure_checkpoints (
  account_id uuid not null,
  currency text not null,
  amount numeric not null,
  through_number bigint not null,
  constraint exposure_checkpoints_pkey PRIMARY KEY (account_id, currency),
  constraint exposure_checkpoints_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table fiat_deposits (
  account_id uuid not null,
  id uuid not null,
  bank_account text not null,
  bank_reference text not null,
  part integer not null,
  is_conflict boolean not null,
  amount bigint not null,
  currency text not null,
  booked_at timestamp with time zone not null,
  details bytea not null,
  status text not null,
  reason text,
  is_posted boolean not null,
  matched_by text,
  onramp_account_id uuid,
  onramp_id uuid,
  matched_amount bigint,
  returns integer not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  ledger_account text,
  mac bytea,
  constraint fiat_deposits_pkey PRIMARY KEY (account_id, id),
  constraint fiat_deposits_amount_check CHECK ((amount > 0)),
  constraint fiat_deposits_matched_by_check CHECK ((matched_by = ANY (ARRAY['code'::text, 'match'::text, 'accept_difference'::text]))),
  constraint fiat_deposits_status_check CHECK ((status = ANY (ARRAY['unmatched'::text, 'matching'::text, 'matched'::text, 'releasing'::text, 'returning'::text, 'returned'::text, 'dismissed'::text, 'kept'::text]))),
  constraint fiat_deposits_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE UNIQUE INDEX fiat_deposits_conflict ON public.fiat_deposits USING btree (account_id, bank_account, bank_reference, amount, currency, booked_at) WHERE ((part = 0) AND is_conflict);
CREATE UNIQUE INDEX fiat_deposits_line ON public.fiat_deposits USING btree (account_id, bank_account, bank_reference) WHERE ((part = 0) AND (NOT is_conflict));
CREATE UNIQUE INDEX fiat_deposits_part ON public.fiat_deposits USING btree (account_id, bank_account, bank_reference, part) WHERE (part > 0);
CREATE INDEX fiat_deposits_status ON public.fiat_deposits USING btree (account_id, status, id);

create table installation (
  id boolean not null,
  mode text not null,
  master_key_id text not null,
  index_key bytea not null,
  clock_offset_ms bigint not null default 0,
  erasures bigint not null default 0,
  created_at timestamp with time zone not null,
  constraint installation_pkey PRIMARY KEY (id),
  constraint installation_clock_offset_ms_check CHECK ((clock_offset_ms >= 0)),
  constraint installation_id_check CHECK (id),
  constraint installation_mode_check CHECK ((mode = ANY (ARRAY['sandbox'::text, 'live'::text])))
);

create table invoice_changes (
  account_id uuid not null,
  invoice_id uuid not null,
  sequence integer not null,
  id uuid not null,
  name text not null,
  from_status text,
  to_status text not null,
  actor_account_id uuid,
  input bytea,
  change_key bytea,
  facts bytea not null,
  other_body bytea,
  at timestamp with time zone not null,
  acted_by bytea,
  constraint invoice_changes_pkey PRIMARY KEY (account_id, invoice_id, sequence),
  constraint invoice_changes_account_id_invoice_id_fkey FOREIGN KEY (account_id, invoice_id) REFERENCES invoices(account_id, id)
);
CREATE UNIQUE INDEX invoice_changes_key ON public.invoice_changes USING btree (account_id, invoice_id, change_key) WHERE (change_key IS NOT NULL);

create table invoice_claims (
  account_id uuid not null,
  invoice_id uuid not null,
  chain text not null,
  tx_id text not null,
  expires_at timestamp with time zone not null,
  log_index integer,
  constraint invoice_claims_pkey PRIMARY KEY (account_id, invoice_id),
  constraint invoice_claims_account_id_invoice_id_fkey FOREIGN KEY (account_id, invoice_id) REFERENCES invoices(account_id, id)
);
CREATE INDEX invoice_claims_transaction ON public.invoice_claims USING btree (chain, tx_id);

create table invoice_links (
  token_hash bytea not null,
  account_id uuid not null,
  invoice_id uuid not null,
  constraint invoice_links_pkey PRIMARY KEY (token_hash)
);

create table invoice_payment_steps (
  account_id uuid not null,
  offramp_id uuid not null,
  step integer not null,
  invoice_id uuid not null,
  kind text not null,
  applied_at timestamp with time zone,
  created_at timestamp with time zone not null,
  constraint invoice_payment_steps_pkey PRIMARY KEY (account_id, offramp_id, step),
  constraint invoice_payment_steps_kind_check CHECK ((kind = ANY (ARRAY['funded'::text, 'rerouted'::text, 'sent'::text, 'bounced'::text, 'failed'::text]))),
  constraint invoice_payment_steps_account_id_invoice_id_fkey FOREIGN KEY (account_id, invoice_id) REFERENCES invoice_views(account_id, id)
);

create table invoice_payments (
  account_id uuid not null,
  invoice_id uuid not null,
  offramp_id uuid not null,
  step integer not null,
  created_at timestamp with time zone not null,
  constraint invoice_payments_pkey PRIMARY KEY (account_id, invoice_id, offramp_id, step),
  constraint invoice_payments_account_id_invoice_id_fkey FOREIGN KEY (account_id, invoice_id) REFERENCES invoices(account_id, id)
);

create table invoice_request_ids (
  request_id text not null,
  account_id uuid not null,
  invoice_id uuid not null,
  constraint invoice_request_ids_pkey PRIMARY KEY (request_id)
);

create table invoice_transfers (
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  account_id uuid not null,
  invoice_id uuid not null,
  is_proven boolean not null default true,
  constraint invoice_transfers_pkey PRIMARY KEY (chain, tx_id, log_index)
);

create table invoice_views (
  account_id uuid not null,
  id uuid not null,
  owner_account_id uuid not null,
  role text not null,
  format text not null,
  status text not null,
  creation_date timestamp with time zone not null,
  due_at timestamp with time zone,
  sequence integer not null,
  offramp_id uuid,
  updated_at timestamp with time zone not null,
  constraint invoice_views_pkey PRIMARY KEY (account_id, id),
  constraint invoice_views_role_check CHECK ((role = ANY (ARRAY['seller'::text, 'buyer'::text]))),
  constraint invoice_views_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX invoice_views_created ON public.invoice_views USING btree (account_id, creation_date) WHERE (creation_date IS NOT NULL);
CREATE INDEX invoice_views_format ON public.invoice_views USING btree (account_id, format, id) WHERE (format IS NOT NULL);
CREATE INDEX invoice_views_role ON public.invoice_views USING btree (account_id, role, id) WHERE (role IS NOT NULL);
CREATE INDEX invoice_views_status ON public.invoice_views USING btree (status, account_id, id);
CREATE INDEX invoice_views_updated ON public.invoice_views USING btree (account_id, updated_at);

create table invoice_words (
  account_id uuid not null,
  word bytea not null,
  invoice_id uuid not null,
  constraint invoice_words_pkey PRIMARY KEY (account_id, word, invoice_id),
  constraint invoice_words_account_id_invoice_id_fkey FOREIGN KEY (account_id, invoice_id) REFERENCES invoice_views(account_id, id)
);

create table invoices (
  account_id uuid not null,
  id uuid not null,
  format text not null,
  status text not null,
  request_id text,
  number_index bytea not null,
  currency text not null,
  total bigint not null,
  total_without_tax bigint not null,
  creation_date timestamp with time zone not null,
  due_at timestamp with time zone,
  document bytea not null,
  party_index bytea not null,
  shared_with uuid,
  shared_from integer,
  was_accepted boolean not null default false,
  payment bytea,
  offramp_id uuid,
  next_occurrence_at timestamp with time zone,
  occurrences integer not null default 0,
  template_id uuid,
  occurrence integer,
  app_id uuid,
  sequence integer not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  tracked bytea,
  constraint invoices_pkey PRIMARY KEY (account_id, id),
  constraint invoices_check CHECK (((shared_with IS NULL) = (shared_from IS NULL))),
  constraint invoices_check1 CHECK (((template_id IS NULL) = (occurrence IS NULL))),
  constraint invoices_format_check CHECK ((format = ANY (ARRAY['svc_invoice'::text, 'svc_salary'::text]))),
  constraint invoices_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'scheduled'::text, 'open'::text, 'accepted'::text, 'declaredPaid'::text, 'paid'::text, 'canceled'::text, 'rejected'::text]))),
  constraint invoices_total_check CHECK ((total >= 0)),
  constraint invoices_total_without_tax_check CHECK ((total_without_tax >= 0)),
  constraint invoices_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint invoices_account_id_template_id_fkey FOREIGN KEY (account_id, template_id) REFERENCES invoices(account_id, id),
  constraint invoices_shared_with_fkey FOREIGN KEY (shared_with) REFERENCES accounts(id)
);
CREATE UNIQUE INDEX invoices_number ON public.invoices USING btree (number_index, account_id);
CREATE UNIQUE INDEX invoices_occurrence ON public.invoices USING btree (template_id, account_id, occurrence);
CREATE INDEX invoices_party ON public.invoices USING btree (party_index, account_id, id);

create table kept_messages (
  account_id uuid not null,
  kind text not null,
  record_id uuid not null,
  place bigint not null,
  reference text not null,
  message text not null,
  kept_at timestamp with time zone not null,
  mac bytea not null,
  constraint kept_messages_pkey PRIMARY KEY (account_id, kind, record_id, place),
  constraint kept_messages_account_id_kind_reference_key UNIQUE (account_id, kind, reference),
  constraint kept_messages_place_check CHECK ((place > 0))
);
CREATE INDEX kept_messages_by_time ON public.kept_messages USING btree (kind, kept_at);

create table kyc_applications (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  content bytea,
  submitted_at timestamp with time zone not null,
  decided_at timestamp with time zone,
  deleted_at timestamp with time zone,
  constraint kyc_applications_pkey PRIMARY KEY (account_id, id),
  constraint kyc_applications_check CHECK (((deleted_at IS NULL) = (content IS NOT NULL))),
  constraint kyc_applications_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX kyc_applications_decided ON public.kyc_applications USING btree (account_id, decided_at) WHERE (deleted_at IS NULL);
CREATE INDEX kyc_applications_user ON public.kyc_applications USING btree (user_id, account_id, id);

create table kyc_drafts (
  account_id uuid not null,
  user_id uuid not null,
  content bytea not null,
  updated_at timestamp with time zone not null,
  constraint kyc_drafts_pkey PRIMARY KEY (account_id, user_id),
  constraint kyc_drafts_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);

create table kyc_files (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  application_id uuid,
  slot text not null,
  file uuid not null,
  visit_id uuid,
  type text not null,
  size integer not null,
  hash bytea not null,
  uploaded_at timestamp with time zone not null,
  mac bytea,
  constraint kyc_files_pkey PRIMARY KEY (account_id, id),
  constraint kyc_files_slot_check CHECK ((slot = ANY (ARRAY['document_front'::text, 'document_back'::text, 'selfie'::text, 'registration_document'::text]))),
  constraint kyc_files_type_check CHECK ((type = ANY (ARRAY['pdf'::text, 'jpg'::text, 'png'::text]))),
  constraint kyc_files_account_id_application_id_fkey FOREIGN KEY (account_id, application_id) REFERENCES kyc_applications(account_id, id),
  constraint kyc_files_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX kyc_files_application ON public.kyc_files USING btree (account_id, application_id);
CREATE UNIQUE INDEX kyc_files_draft ON public.kyc_files USING btree (account_id, user_id, slot) WHERE (application_id IS NULL);
CREATE INDEX kyc_files_user ON public.kyc_files USING btree (account_id, user_id);

create table kyc_results (
  account_id uuid not null,
  application_id uuid not null,
  result_id text not null,
  outcome text not null,
  is_applied boolean not null,
  created_at timestamp with time zone not null,
  constraint kyc_results_pkey PRIMARY KEY (account_id, application_id, result_id),
  constraint kyc_results_account_id_application_id_fkey FOREIGN KEY (account_id, application_id) REFERENCES kyc_applications(account_id, id)
);

create table kyc_review_notes (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  person_id uuid not null,
  action text not null,
  comment bytea not null,
  created_at timestamp with time zone not null,
  constraint kyc_review_notes_pkey PRIMARY KEY (account_id, id),
  constraint kyc_review_notes_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id),
  constraint kyc_review_notes_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id)
);
CREATE INDEX kyc_review_notes_user ON public.kyc_review_notes USING btree (account_id, user_id, id);

create table kyc_sessions (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  command_id uuid not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  end_reason text,
  wrong_birth_dates integer not null default 0,
  birth_date_hash bytea,
  read_only_at timestamp with time zone,
  constraint kyc_sessions_pkey PRIMARY KEY (account_id, id),
  constraint kyc_sessions_check CHECK (((ended_at IS NULL) = (end_reason IS NULL))),
  constraint kyc_sessions_end_reason_check CHECK ((end_reason = ANY (ARRAY['replaced'::text, 'expired'::text]))),
  constraint kyc_sessions_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX kyc_sessions_open ON public.kyc_sessions USING btree (user_id, account_id) WHERE (ended_at IS NULL);
CREATE INDEX kyc_sessions_user ON public.kyc_sessions USING btree (user_id, account_id, id);

create table kyc_tokens (
  token_hash bytea not null,
  account_id uuid not null,
  session_id uuid not null,
  visit_id uuid,
  constraint kyc_tokens_pkey PRIMARY KEY (token_hash)
);
CREATE INDEX kyc_tokens_session ON public.kyc_tokens USING btree (account_id, session_id);

create table kyc_visits (
  account_id uuid not null,
  id uuid not null,
  session_id uuid not null,
  confirmed_at timestamp with time zone,
  created_at timestamp with time zone not null,
  constraint kyc_visits_pkey PRIMARY KEY (account_id, id),
  constraint kyc_visits_account_id_session_id_fkey FOREIGN KEY (account_id, session_id) REFERENCES kyc_sessions(account_id, id) ON DELETE CASCADE
);
CREATE INDEX kyc_visits_session ON public.kyc_visits USING btree (account_id, session_id);

create table leaving_counts (
  is_only boolean not null,
  count bigint not null,
  constraint leaving_counts_pkey PRIMARY KEY (is_only),
  constraint leaving_counts_count_check CHECK ((count >= 0)),
  constraint leaving_counts_is_only_check CHECK (is_only)
);

create table ledger_balances (
  account_id uuid not null,
  ledger_account text not null,
  currency text not null,
  balance bigint not null,
  last_entry_id uuid,
  mac bytea,
  constraint ledger_balances_pkey PRIMARY KEY (account_id, ledger_account, currency),
  constraint ledger_balances_balance_check CHECK ((balance >= 0))
);

create table ledger_day_sums (
  account_id uuid not null,
  day date not null,
  ledger_account text not null,
  currency text not null,
  amount numeric not null,
  constraint ledger_day_sums_pkey PRIMARY KEY (account_id, day, ledger_account, currency),
  constraint ledger_day_sums_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table ledger_entries (
  account_id uuid not null,
  id uuid not null,
  key text not null,
  kind text not null,
  created_at timestamp with time zone not null,
  mac bytea,
  constraint ledger_entries_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX ledger_entries_by_kind ON public.ledger_entries USING btree (kind, account_id, id);
CREATE UNIQUE INDEX ledger_entries_key ON public.ledger_entries USING btree (key, account_id);

create table ledger_lines (
  account_id uuid not null,
  entry_id uuid not null,
  number smallint not null,
  ledger_account text not null,
  currency text not null,
  amount bigint not null,
  constraint ledger_lines_pkey PRIMARY KEY (account_id, ledger_account, entry_id, number) INCLUDE (currency, amount),
  constraint ledger_lines_amount_check CHECK ((amount <> 0))
);
CREATE INDEX ledger_lines_entry ON public.ledger_lines USING btree (account_id, entry_id);

create table ledger_owed_sums (
  account_id uuid not null,
  chain text not null,
  currency text not null,
  amount numeric not null,
  constraint ledger_owed_sums_pkey PRIMARY KEY (account_id, chain, currency),
  constraint ledger_owed_sums_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table ledger_sum_marks (
  account_id uuid not null,
  through_number bigint not null,
  owed_through_number bigint not null default 0,
  constraint ledger_sum_marks_pkey PRIMARY KEY (account_id),
  constraint ledger_sum_marks_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table limit_rules (
  account_id uuid not null,
  user_id uuid not null,
  scope text not null,
  time_window text not null,
  amount_max bigint,
  count_max integer,
  created_at timestamp with time zone not null,
  mac bytea,
  constraint limit_rules_pkey PRIMARY KEY (account_id, user_id, scope, time_window),
  constraint limit_rules_amount_max_check CHECK ((amount_max >= 0)),
  constraint limit_rules_count_max_check CHECK ((count_max >= 0)),
  constraint limit_rules_scope_check CHECK ((scope = ANY (ARRAY['payout'::text, 'user'::text, 'payee'::text, 'account'::text, 'open_quotes'::text]))),
  constraint limit_rules_time_window_check CHECK ((time_window = ANY (ARRAY['single'::text, 'day'::text, '30_days'::text])))
);

create table mac_keys (
  version smallint not null,
  master_key_id text not null,
  wrapped bytea not null,
  created_at timestamp with time zone not null,
  constraint mac_keys_pkey PRIMARY KEY (version),
  constraint mac_keys_version_check CHECK (((version >= 1) AND (version <= 255)))
);

create table mails (
  account_id uuid not null,
  id uuid not null,
  kind text not null,
  address bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint mails_pkey PRIMARY KEY (account_id, id),
  constraint mails_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table members (
  account_id uuid not null,
  person_id uuid not null,
  role text not null,
  created_at timestamp with time zone not null,
  votes_from timestamp with time zone,
  mac bytea,
  joined_at timestamp with time zone,
  constraint members_pkey PRIMARY KEY (account_id, person_id),
  constraint members_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'finance_manager'::text, 'accountant'::text, 'approver'::text, 'developer'::text]))),
  constraint members_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint members_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id)
);
CREATE INDEX members_person ON public.members USING btree (person_id);

create table migrations (
  name text not null,
  applied_at timestamp with time zone not null,
  checksum text not null,
  breaks boolean not null default false,
  constraint migrations_pkey PRIMARY KEY (name)
);

create table oauth_artifacts (
  model text not null,
  id_hash bytea not null,
  payload bytea not null,
  grant_id text,
  uid text,
  app_id uuid,
  account_id uuid,
  person_id uuid,
  consumed_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  constraint oauth_artifacts_pkey PRIMARY KEY (model, id_hash)
);
CREATE INDEX oauth_artifacts_consent ON public.oauth_artifacts USING btree (person_id, app_id) WHERE (model = 'Grant'::text);
CREATE INDEX oauth_artifacts_expiry ON public.oauth_artifacts USING btree (expires_at);
CREATE INDEX oauth_artifacts_grant ON public.oauth_artifacts USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX oauth_artifacts_of_consent ON public.oauth_artifacts USING btree (grant_id) WHERE (model = 'Grant'::text);
CREATE INDEX oauth_artifacts_uid ON public.oauth_artifacts USING btree (uid) WHERE (uid IS NOT NULL);

create table oauth_signing_keys (
  id text not null,
  jwk bytea not null,
  created_at timestamp with time zone not null,
  constraint oauth_signing_keys_pkey PRIMARY KEY (id)
);

create table offramps (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  quote_id uuid not null,
  payment_detail_id uuid not null,
  status text not null,
  status_message text,
  destination_amount bigint not null,
  destination_currency text not null,
  rails text not null,
  rate numeric not null,
  fee bigint not null,
  deposit_token text not null,
  token_amount bigint not null,
  token_fee bigint not null,
  details bytea not null,
  document_status text,
  document_source text,
  document_file text,
  document_hash bytea,
  document_type text,
  document_version integer not null default 0,
  funded_at timestamp with time zone,
  attempt integer not null default 0,
  payout_reference jsonb,
  sequence integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  invoice_id uuid,
  document_id uuid,
  document_fetch_failures integer not null default 0,
  deposit_token_chain text not null,
  given_back bigint,
  refund_rate numeric,
  rate_until timestamp with time zone,
  rate_paused_at timestamp with time zone,
  document_after_approval boolean not null default false,
  reference_index bytea,
  constraint offramps_pkey PRIMARY KEY (account_id, id),
  constraint offramps_destination_amount_check CHECK ((destination_amount > 0)),
  constraint offramps_document_source_check CHECK ((document_source = ANY (ARRAY['url'::text, 'upload'::text]))),
  constraint offramps_document_status_check CHECK ((document_status = ANY (ARRAY['not_checked'::text, 'approved'::text, 'rejected'::text]))),
  constraint offramps_fee_check CHECK ((fee >= 0)),
  constraint offramps_given_back_check CHECK ((given_back >= 0)),
  constraint offramps_rails_check CHECK ((rails = ANY (ARRAY['local'::text, 'swift'::text, 'wire'::text]))),
  constraint offramps_rate_check CHECK ((rate > (0)::numeric)),
  constraint offramps_status_check CHECK ((status = ANY (ARRAY['initiated'::text, 'pending_internal_assessment'::text, 'ongoing_checks'::text, 'sending_fiat'::text, 'fiat_sent'::text, 'bounced'::text, 'failed'::text]))),
  constraint offramps_token_amount_check CHECK ((token_amount > 0)),
  constraint offramps_token_fee_check CHECK ((token_fee >= 0)),
  constraint offramps_account_id_invoice_id_fkey FOREIGN KEY (account_id, invoice_id) REFERENCES invoice_views(account_id, id),
  constraint offramps_account_id_payment_detail_id_fkey FOREIGN KEY (account_id, payment_detail_id) REFERENCES payment_details(account_id, id),
  constraint offramps_account_id_quote_id_fkey FOREIGN KEY (account_id, quote_id) REFERENCES quotes(account_id, id),
  constraint offramps_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX offramps_account_list_by_status ON public.offramps USING btree (status, account_id, id);
CREATE INDEX offramps_document ON public.offramps USING btree (document_id, account_id) WHERE (document_id IS NOT NULL);
CREATE INDEX offramps_list ON public.offramps USING btree (user_id, account_id, id);
CREATE INDEX offramps_list_by_kind ON public.offramps USING btree (rails, account_id, destination_currency, status, id);
CREATE INDEX offramps_list_by_status ON public.offramps USING btree (user_id, account_id, status, id);
CREATE INDEX offramps_open ON public.offramps USING btree (status, created_at) WHERE (status = ANY (ARRAY['pending_internal_assessment'::text, 'ongoing_checks'::text, 'sending_fiat'::text]));
CREATE INDEX offramps_payment_detail ON public.offramps USING btree (payment_detail_id, account_id, id);
CREATE INDEX offramps_quote ON public.offramps USING btree (quote_id, account_id, id);
CREATE INDEX offramps_reference ON public.offramps USING btree (reference_index, account_id, id) WHERE (reference_index IS NOT NULL);
CREATE INDEX offramps_rejected_document ON public.offramps USING btree (account_id, id) WHERE (document_status = 'rejected'::text);
CREATE INDEX offramps_rerouted ON public.offramps USING btree (payment_detail_id, account_id) WHERE (attempt > 1);

create table onramps (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  status text not null,
  status_message text,
  crypto_currency text not null,
  crypto_rails text not null,
  destination_amount bigint not null,
  details bytea not null,
  fiat_currency text not null,
  fiat_rails text not null,
  rate numeric not null,
  fee bigint not null,
  deposit_amount bigint not null,
  price_version_id uuid not null,
  deposit_instructions jsonb not null,
  deposit_message text not null,
  deposit_id uuid,
  received bigint,
  delivery text,
  tx_id text,
  sequence integer not null default 1,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  paid_at timestamp with time zone,
  deposit_account text,
  mac bytea,
  constraint onramps_pkey PRIMARY KEY (account_id, id),
  constraint onramps_delivery_check CHECK ((delivery = ANY (ARRAY['waiting'::text, 'sending'::text, 'sent'::text, 'refused'::text]))),
  constraint onramps_deposit_amount_check CHECK ((deposit_amount > 0)),
  constraint onramps_destination_amount_check CHECK ((destination_amount > 0)),
  constraint onramps_fee_check CHECK ((fee >= 0)),
  constraint onramps_fiat_rails_check CHECK ((fiat_rails = ANY (ARRAY['ach_push'::text, 'wire'::text, 'local'::text]))),
  constraint onramps_rate_check CHECK ((rate > (0)::numeric)),
  constraint onramps_status_check CHECK ((status = ANY (ARRAY['initiated'::text, 'sending_fiat'::text, 'crypto_sent'::text, 'failed'::text]))),
  constraint onramps_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id),
  constraint onramps_price_version_id_fkey FOREIGN KEY (price_version_id) REFERENCES price_versions(id)
);
CREATE INDEX onramps_by_status ON public.onramps USING btree (status, account_id, id);
CREATE INDEX onramps_list ON public.onramps USING btree (user_id, account_id, id);
CREATE INDEX onramps_list_by_status ON public.onramps USING btree (user_id, account_id, status, id);
CREATE INDEX onramps_unpaid ON public.onramps USING btree (fiat_currency, deposit_amount) WHERE (status = 'initiated'::text);

create table operator_acts (
  account_id uuid not null,
  id uuid not null,
  operator_id uuid not null,
  entry text not null,
  created_at timestamp with time zone not null,
  mac bytea not null,
  constraint operator_acts_pkey PRIMARY KEY (account_id, id)
);

create table partner_cursors (
  name text not null,
  cursor text not null,
  read_at timestamp with time zone not null,
  mac bytea,
  constraint partner_cursors_pkey PRIMARY KEY (name)
);

create table passkey_challenges (
  challenge_hash bytea not null,
  expires_at timestamp with time zone not null,
  constraint passkey_challenges_pkey PRIMARY KEY (challenge_hash)
);
CREATE INDEX passkey_challenges_expiry ON public.passkey_challenges USING btree (expires_at);

create table passkeys (
  person_id uuid not null,
  id uuid not null,
  credential_id bytea not null,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null,
  name bytea not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  works_alone boolean not null,
  mac bytea,
  constraint passkeys_pkey PRIMARY KEY (person_id, id),
  constraint passkeys_credential_id_key UNIQUE (credential_id),
  constraint passkeys_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id)
);

create table password_links (
  token_hash bytea not null,
  person_id uuid not null,
  kind text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  mac bytea,
  constraint password_links_pkey PRIMARY KEY (token_hash),
  constraint password_links_kind_check CHECK ((kind = ANY (ARRAY['invitation'::text, 'reset'::text]))),
  constraint password_links_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id)
);
CREATE INDEX password_links_expiry ON public.password_links USING btree (expires_at);
CREATE INDEX password_links_person ON public.password_links USING btree (person_id);

create table payment_details (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  currency text not null,
  rails text not null,
  beneficiary_type text not null,
  status text not null,
  details bytea not null,
  sequence integer not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  payee_index bytea,
  screening_version text,
  mac bytea,
  constraint payment_details_pkey PRIMARY KEY (account_id, id),
  constraint payment_details_beneficiary_type_check CHECK ((beneficiary_type = ANY (ARRAY['individual'::text, 'business'::text]))),
  constraint payment_details_rails_check CHECK ((rails = ANY (ARRAY['local'::text, 'swift'::text, 'wire'::text]))),
  constraint payment_details_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'failed'::text, 'deactivated'::text]))),
  constraint payment_details_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX payment_details_by_status ON public.payment_details USING btree (status, account_id, id);
CREATE INDEX payment_details_list ON public.payment_details USING btree (user_id, account_id, id);
CREATE INDEX payment_details_list_by_status ON public.payment_details USING btree (user_id, account_id, status, id);
CREATE INDEX payment_details_payee ON public.payment_details USING btree (COALESCE(payee_index, uuid_send(id)), account_id);
CREATE INDEX payment_details_without_payee ON public.payment_details USING btree (account_id, id) WHERE (payee_index IS NULL);

create table payout_batches (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  status text not null,
  deposit_token text not null,
  deposit_token_chain text not null,
  title bytea not null,
  content bytea not null,
  row_count integer not null,
  file_index bytea not null,
  quote_id uuid,
  attempt integer not null,
  version integer not null,
  created_by text not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint payout_batches_pkey PRIMARY KEY (account_id, id),
  constraint payout_batches_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'creating'::text, 'created'::text]))),
  constraint payout_batches_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX payout_batches_expired ON public.payout_batches USING btree (account_id, expires_at);
CREATE INDEX payout_batches_file ON public.payout_batches USING btree (file_index, account_id);

create table payout_holds (
  id uuid not null,
  kind text not null,
  reason text not null,
  held_at timestamp with time zone not null,
  file_count bigint,
  released_at timestamp with time zone,
  release_reason text,
  constraint payout_holds_pkey PRIMARY KEY (id),
  constraint payout_holds_check CHECK (((released_at IS NULL) = (release_reason IS NULL))),
  constraint payout_holds_kind_check CHECK ((kind = ANY (ARRAY['operator'::text, 'restore'::text])))
);
CREATE UNIQUE INDEX payout_holds_open ON public.payout_holds USING btree (kind) WHERE (released_at IS NULL);

create table payout_views (
  account_id uuid not null,
  person_id uuid not null,
  name text not null,
  search text not null,
  created_at timestamp with time zone not null,
  constraint payout_views_pkey PRIMARY KEY (account_id, person_id, name),
  constraint payout_views_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 60))),
  constraint payout_views_search_check CHECK (((char_length(search) >= 1) AND (char_length(search) <= 1000))),
  constraint payout_views_account_id_person_id_fkey FOREIGN KEY (account_id, person_id) REFERENCES members(account_id, person_id) ON DELETE CASCADE
);

create table payouts (
  account_id uuid not null,
  offramp_id uuid not null,
  attempt integer not null,
  payment_detail_id uuid not null,
  end_to_end_id text not null,
  status text not null,
  returned_amount bigint,
  flagged_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  bank_account text,
  returned_to text,
  is_booking_implied boolean not null default false,
  mac bytea,
  constraint payouts_pkey PRIMARY KEY (account_id, offramp_id, attempt),
  constraint payouts_status_check CHECK ((status = ANY (ARRAY['recorded'::text, 'submitting'::text, 'sent'::text, 'booked'::text, 'returned'::text, 'rejected'::text])))
);
CREATE INDEX payouts_flagged ON public.payouts USING btree (account_id, flagged_at) WHERE ((flagged_at IS NOT NULL) AND (status = ANY (ARRAY['submitting'::text, 'sent'::text])));
CREATE INDEX payouts_open ON public.payouts USING btree (status, created_at) WHERE (status = ANY (ARRAY['recorded'::text, 'submitting'::text, 'sent'::text]));
CREATE INDEX payouts_returned ON public.payouts USING btree (payment_detail_id, account_id) WHERE (status = 'returned'::text);
CREATE INDEX payouts_unanswered ON public.payouts USING btree (created_at) WHERE ((status = ANY (ARRAY['submitting'::text, 'sent'::text])) AND (flagged_at IS NULL));

create table people (
  id uuid not null,
  email_index bytea not null,
  email bytea not null,
  password_hash text,
  created_at timestamp with time zone not null,
  mac bytea,
  factor_reset_at timestamp with time zone,
  constraint people_pkey PRIMARY KEY (id),
  constraint people_email_index_key UNIQUE (email_index)
);

create table price_versions (
  id uuid not null,
  content_hash bytea not null,
  source text not null,
  as_of timestamp with time zone,
  rates jsonb not null,
  fees jsonb not null,
  created_at timestamp with time zone not null,
  spreads jsonb not null,
  stopped jsonb not null,
  expires_at timestamp with time zone,
  mac bytea,
  constraint price_versions_pkey PRIMARY KEY (id),
  constraint price_versions_content_hash_key UNIQUE (content_hash)
);

create table proposal_votes (
  account_id uuid not null,
  proposal_id uuid not null,
  person_id uuid not null,
  verdict text not null,
  created_at timestamp with time zone not null,
  voter_account_id uuid not null,
  mac bytea,
  constraint proposal_votes_pkey PRIMARY KEY (account_id, proposal_id, person_id),
  constraint proposal_votes_verdict_check CHECK ((verdict = ANY (ARRAY['confirm'::text, 'reject'::text]))),
  constraint proposal_votes_account_id_proposal_id_fkey FOREIGN KEY (account_id, proposal_id) REFERENCES proposals(account_id, id)
);

create table proposals (
  account_id uuid not null,
  id uuid not null,
  kind text not null,
  record_id uuid not null,
  input bytea not null,
  subject_id uuid,
  amount_usd numeric(24,2),
  summary text not null,
  proposed_by text not null,
  proposed_by_person uuid,
  status text not null,
  outcome text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  voters text not null,
  mac bytea,
  constraint proposals_pkey PRIMARY KEY (account_id, id),
  constraint proposals_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'confirmed'::text, 'rejected'::text, 'void'::text, 'lapsed'::text, 'done'::text, 'failed'::text]))),
  constraint proposals_voters_check CHECK ((voters = ANY (ARRAY['members'::text, 'with_operator'::text, 'reviewers'::text])))
);
CREATE INDEX proposals_list_by_status ON public.proposals USING btree (status, account_id, id);
CREATE UNIQUE INDEX proposals_pending_decision ON public.proposals USING btree (account_id, record_id) WHERE ((kind = 'decide-kyc'::text) AND (status = 'pending'::text));
CREATE INDEX proposals_pending_elsewhere ON public.proposals USING btree (id) WHERE ((voters <> 'members'::text) AND (status = 'pending'::text));
CREATE INDEX proposals_record ON public.proposals USING btree (record_id, account_id, id);

create table proven_rails (
  currency text not null,
  rail text not null,
  proven_at timestamp with time zone not null,
  bank_account text not null default ''::text,
  constraint proven_rails_pkey PRIMARY KEY (bank_account, currency, rail)
);

create table quotes (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  deposit_token text not null,
  deposit_token_chain text not null,
  deposit_address text not null,
  price_version_id uuid not null,
  expires_at timestamp with time zone not null,
  token_amount bigint not null default 0,
  token_fees bigint not null default 0,
  offramp_count integer not null default 0,
  executed_at timestamp with time zone,
  tx_id text,
  tx_network text,
  tx_named_at timestamp with time zone,
  received bigint not null default 0,
  funded_at timestamp with time zone,
  closed_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  from_balance bigint not null default 0,
  proposal_id uuid,
  approval_status text,
  shortfall bigint not null default 0,
  spent_before bigint,
  tx_status text,
  mac bytea,
  constraint quotes_pkey PRIMARY KEY (account_id, id),
  constraint quotes_approval_check CHECK ((((proposal_id IS NULL) = (approval_status IS NULL)) AND (approval_status = ANY (ARRAY['pending'::text, 'done'::text, 'rejected'::text, 'void'::text, 'lapsed'::text])))),
  constraint quotes_deposit_token_check CHECK ((deposit_token = ANY (ARRAY['usdc'::text, 'usdt'::text]))),
  constraint quotes_from_balance_check CHECK ((from_balance >= 0)),
  constraint quotes_offramp_count_check CHECK (((offramp_count >= 0) AND (offramp_count <= 5000))),
  constraint quotes_shortfall_check CHECK ((shortfall >= 0)),
  constraint quotes_tx_status_check CHECK ((tx_status = ANY (ARRAY['unknown'::text, 'pending'::text, 'final'::text, 'failed'::text]))),
  constraint quotes_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id),
  constraint quotes_price_version_id_fkey FOREIGN KEY (price_version_id) REFERENCES price_versions(id)
);
CREATE INDEX quotes_by_stage ON public.quotes USING btree (deposit_token, account_id, (
CASE
    WHEN ((executed_at IS NOT NULL) AND (closed_at IS NOT NULL)) THEN 'failed'::text
    WHEN (executed_at IS NOT NULL) THEN 'executed'::text
    WHEN (closed_at IS NOT NULL) THEN 'expired'::text
    ELSE 'open'::text
END), id);
CREATE INDEX quotes_executed ON public.quotes USING btree (account_id, executed_at) WHERE (executed_at IS NOT NULL);
CREATE INDEX quotes_list ON public.quotes USING btree (user_id, account_id, id);
CREATE INDEX quotes_list_executed ON public.quotes USING btree (account_id, user_id, id) WHERE ((executed_at IS NOT NULL) AND (closed_at IS NULL));
CREATE INDEX quotes_list_failed ON public.quotes USING btree (account_id, user_id, id) WHERE ((executed_at IS NOT NULL) AND (closed_at IS NOT NULL));
CREATE INDEX quotes_list_unclosed ON public.quotes USING btree (account_id, user_id, id) WHERE ((executed_at IS NULL) AND (closed_at IS NULL));
CREATE INDEX quotes_list_unexecuted ON public.quotes USING btree (account_id, user_id, id) WHERE (executed_at IS NULL);
CREATE INDEX quotes_of_user_by_stage ON public.quotes USING btree (user_id, account_id, (
CASE
    WHEN ((executed_at IS NOT NULL) AND (closed_at IS NOT NULL)) THEN 'failed'::text
    WHEN (executed_at IS NOT NULL) THEN 'executed'::text
    WHEN (closed_at IS NOT NULL) THEN 'expired'::text
    ELSE 'open'::text
END), deposit_token, id);
CREATE UNIQUE INDEX quotes_tx ON public.quotes USING btree (account_id, deposit_token_chain, tx_id) WHERE (tx_id IS NOT NULL);
CREATE INDEX quotes_waiting ON public.quotes USING btree (account_id, user_id) WHERE ((executed_at IS NOT NULL) AND (funded_at IS NULL) AND (closed_at IS NULL));

create table rate_checks (
  token text not null,
  currency text not null,
  accepted_rate text not null,
  accepted_at timestamp with time zone not null,
  held_rate text,
  held_at timestamp with time zone,
  mac bytea,
  constraint rate_checks_pkey PRIMARY KEY (token, currency)
);

create table recovery_codes (
  person_id uuid not null,
  code_hash bytea not null,
  mac bytea,
  constraint recovery_codes_pkey PRIMARY KEY (person_id, code_hash),
  constraint recovery_codes_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id)
);

create table refund_addresses (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  chain text not null,
  address bytea not null,
  address_index bytea not null,
  created_at timestamp with time zone not null,
  mac bytea,
  constraint refund_addresses_pkey PRIMARY KEY (account_id, id),
  constraint refund_addresses_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE UNIQUE INDEX refund_addresses_address ON public.refund_addresses USING btree (account_id, user_id, chain, address_index);
CREATE INDEX refund_addresses_list ON public.refund_addresses USING btree (account_id, user_id, id);

create table refunds (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  token text not null,
  chain text not null,
  amount bigint not null,
  address bytea not null,
  status text not null,
  tx_id text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  address_index bytea,
  network_fee bigint not null default 0,
  mac bytea,
  constraint refunds_pkey PRIMARY KEY (account_id, id),
  constraint refunds_amount_check CHECK ((amount > 0)),
  constraint refunds_check CHECK (((network_fee >= 0) AND (network_fee < amount))),
  constraint refunds_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sending'::text, 'sent'::text, 'failed'::text]))),
  constraint refunds_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX refunds_address ON public.refunds USING btree (account_id, user_id, address_index);
CREATE INDEX refunds_list ON public.refunds USING btree (account_id, user_id, id);
CREATE INDEX refunds_list_by_status ON public.refunds USING btree (account_id, user_id, status, id);

create table rejected_documents (
  account_id uuid not null,
  offramp_id uuid not null,
  hash bytea not null,
  created_at timestamp with time zone not null,
  constraint rejected_documents_pkey PRIMARY KEY (account_id, offramp_id, hash),
  constraint rejected_documents_account_id_offramp_id_fkey FOREIGN KEY (account_id, offramp_id) REFERENCES offramps(account_id, id)
);

create table removed_offramps (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  quote_id uuid not null,
  sequence integer not null,
  removed_at timestamp with time zone not null,
  constraint removed_offramps_pkey PRIMARY KEY (account_id, id),
  constraint removed_offramps_account_id_quote_id_fkey FOREIGN KEY (account_id, quote_id) REFERENCES quotes(account_id, id)
);
CREATE INDEX removed_offramps_list ON public.removed_offramps USING btree (user_id, account_id, id);

create table requests (
  account_id uuid not null,
  id uuid not null,
  actor text not null,
  method text not null,
  path text not null,
  status smallint not null,
  error_code text,
  problems text,
  duration_ms integer not null,
  constraint requests_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX requests_refused ON public.requests USING btree (account_id, id) WHERE (error_code IS NOT NULL);

create table running_verifications (
  account_id uuid not null,
  requested_by text not null,
  requested_at timestamp with time zone not null,
  accounts_done integer not null default 0,
  accounts integer not null default 0,
  pages integer not null default 0,
  updated_at timestamp with time zone not null,
  constraint running_verifications_pkey PRIMARY KEY (account_id)
);

create table sandbox_bank_answers (
  number bigint not null generated always as identity,
  end_to_end_id text not null,
  account_id uuid not null,
  bank_reference text not null,
  kind text not null,
  amount bigint not null,
  currency text not null,
  constraint sandbox_bank_answers_pkey PRIMARY KEY (number),
  constraint sandbox_bank_answers_bank_reference_key UNIQUE (bank_reference)
);

create table sandbox_bank_credits (
  number bigint not null generated always as identity,
  bank_account text not null,
  bank_reference text not null,
  amount bigint not null,
  currency text not null,
  text text not null,
  payer_name text not null,
  booked_at timestamp with time zone not null,
  created_by uuid,
  constraint sandbox_bank_credits_pkey PRIMARY KEY (number),
  constraint sandbox_bank_credits_bank_account_bank_reference_amount_cur_key UNIQUE (bank_account, bank_reference, amount, currency)
);

create table sandbox_bank_payouts (
  end_to_end_id text not null,
  account_id uuid not null,
  amount bigint not null,
  currency text not null,
  outcome text not null,
  beneficiary bytea,
  constraint sandbox_bank_payouts_pkey PRIMARY KEY (end_to_end_id),
  constraint sandbox_bank_payouts_beneficiary_check CHECK ((beneficiary IS NOT NULL)) NOT VALID
);

create table sandbox_bank_returns (
  key text not null,
  amount bigint not null,
  currency text not null,
  constraint sandbox_bank_returns_pkey PRIMARY KEY (key)
);

create table sandbox_outbox (
  id uuid not null,
  content bytea not null,
  sent_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint sandbox_outbox_pkey PRIMARY KEY (id)
);
CREATE INDEX sandbox_outbox_expiry ON public.sandbox_outbox USING btree (expires_at);

create table sandbox_sends (
  key text not null,
  tx_id text not null,
  chain text,
  token text,
  amount bigint,
  recipient bytea,
  constraint sandbox_sends_pkey PRIMARY KEY (key),
  constraint sandbox_sends_recipient_check CHECK (((chain IS NOT NULL) AND (token IS NOT NULL) AND (amount IS NOT NULL) AND (recipient IS NOT NULL))) NOT VALID
);

create table sandbox_transfers (
  number bigint not null generated always as identity,
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  address text not null,
  token text not null,
  amount bigint not null,
  mined_at timestamp with time zone not null,
  sender text,
  request text,
  constraint sandbox_transfers_pkey PRIMARY KEY (number),
  constraint sandbox_transfers_chain_tx_id_log_index_key UNIQUE (chain, tx_id, log_index)
);
CREATE INDEX sandbox_transfers_address ON public.sandbox_transfers USING btree (address, tx_id, chain);
CREATE INDEX sandbox_transfers_request ON public.sandbox_transfers USING btree (request) WHERE (request IS NOT NULL);

create table sandbox_wallet_transfers (
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  sender text not null,
  recipient text not null,
  token text not null,
  amount bigint not null,
  mined_at timestamp with time zone not null,
  request text,
  constraint sandbox_wallet_transfers_pkey PRIMARY KEY (chain, tx_id, log_index)
);

create table screening_matches (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  record_kind text not null,
  record_id uuid not null,
  list text not null,
  entry_id text not null,
  entry_digest text not null,
  person_digest bytea not null,
  verdict text not null,
  score numeric(4,3) not null,
  status text not null,
  details bytea not null,
  decided_by text,
  decided_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint screening_matches_pkey PRIMARY KEY (account_id, id),
  constraint screening_matches_record_kind_check CHECK ((record_kind = ANY (ARRAY['user'::text, 'payment_detail'::text]))),
  constraint screening_matches_status_check CHECK ((status = ANY (ARRAY['open'::text, 'cleared'::text, 'confirmed'::text, 'closed'::text]))),
  constraint screening_matches_verdict_check CHECK ((verdict = ANY (ARRAY['possible_match'::text, 'match'::text]))),
  constraint screening_matches_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX screening_matches_by_user ON public.screening_matches USING btree (user_id, id);
CREATE INDEX screening_matches_list ON public.screening_matches USING btree (id);
CREATE UNIQUE INDEX screening_matches_pair ON public.screening_matches USING btree (account_id, record_id, list, entry_id, entry_digest, person_digest);
CREATE INDEX screening_matches_status ON public.screening_matches USING btree (status, id);
CREATE INDEX screening_matches_user ON public.screening_matches USING btree (account_id, user_id);

create table screening_state (
  id boolean not null default true,
  version text,
  entries integer not null,
  files jsonb not null,
  problem text,
  activated_at timestamp with time zone,
  people_count bigint not null,
  done_count bigint not null,
  cursor_account_id uuid,
  cursor_user_id uuid,
  finished_at timestamp with time zone,
  constraint screening_state_pkey PRIMARY KEY (id),
  constraint screening_state_id_check CHECK (id)
);

create table seal_blocks (
  account_id uuid not null,
  log text not null,
  number bigint not null,
  entry_ids uuid[] not null,
  digests bytea[] not null,
  previous_hash bytea not null,
  hash bytea not null,
  signature bytea not null,
  sealed_at timestamp with time zone not null,
  constraint seal_blocks_pkey PRIMARY KEY (account_id, log, number),
  constraint seal_blocks_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table seal_pending (
  account_id uuid not null,
  log text not null,
  entry_id uuid not null,
  digest bytea not null,
  noted_at timestamp with time zone not null,
  mac bytea,
  constraint seal_pending_pkey PRIMARY KEY (account_id, log, entry_id)
);

create table seal_rejected (
  account_id uuid not null,
  log text not null,
  entry_id uuid not null,
  digest bytea,
  mac bytea,
  noted_at timestamp with time zone not null,
  rejected_at timestamp with time zone not null,
  constraint seal_rejected_pkey PRIMARY KEY (account_id, log, entry_id)
);

create table sessions (
  token_hash bytea not null,
  account_id uuid not null,
  person_id uuid not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  id uuid not null,
  state text not null,
  origin bytea,
  used_at timestamp with time zone not null,
  confirmed_at timestamp with time zone not null,
  factor_at timestamp with time zone,
  mac bytea,
  constraint sessions_pkey PRIMARY KEY (token_hash),
  constraint sessions_state_check CHECK ((state = ANY (ARRAY['awaiting_factor'::text, 'active'::text])))
);
CREATE INDEX sessions_expiry ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_person ON public.sessions USING btree (person_id);

create table set_aside_transfers (
  account_id uuid not null,
  id uuid not null,
  quote_id uuid not null,
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  sender text,
  token text not null,
  amount numeric not null,
  mined_at timestamp with time zone not null,
  reason text not null,
  created_at timestamp with time zone not null,
  constraint set_aside_transfers_pkey PRIMARY KEY (account_id, id),
  constraint set_aside_transfers_amount_check CHECK ((amount > (0)::numeric)),
  constraint set_aside_transfers_reason_check CHECK ((reason = ANY (ARRAY['not_creditable'::text, 'erased_user'::text]))),
  constraint set_aside_transfers_account_id_quote_id_fkey FOREIGN KEY (account_id, quote_id) REFERENCES quotes(account_id, id)
);
CREATE UNIQUE INDEX set_aside_transfers_transfer ON public.set_aside_transfers USING btree (account_id, chain, tx_id, log_index);

create table subject_keys (
  account_id uuid not null,
  subject_id uuid not null,
  account_key_version integer not null,
  wrapped bytea not null,
  created_at timestamp with time zone not null,
  constraint subject_keys_pkey PRIMARY KEY (account_id, subject_id),
  constraint subject_keys_account_id_account_key_version_fkey FOREIGN KEY (account_id, account_key_version) REFERENCES account_keys(account_id, version),
  constraint subject_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table tasks (
  account_id uuid not null,
  id uuid not null,
  kind text not null,
  record_id uuid not null,
  due_at timestamp with time zone not null,
  attempts integer not null default 0,
  leased_until timestamp with time zone,
  lease_id uuid,
  last_error text,
  created_at timestamp with time zone not null,
  losses integer not null default 0,
  constraint tasks_pkey PRIMARY KEY (account_id, id)
);
CREATE INDEX tasks_due ON public.tasks USING btree (kind, due_at);
CREATE INDEX tasks_failed ON public.tasks USING btree (kind, due_at) WHERE (attempts > 0);
CREATE INDEX tasks_failed_in_turn ON public.tasks USING btree (kind, account_id, due_at, created_at) WHERE (attempts > 0);
CREATE INDEX tasks_fresh ON public.tasks USING btree (kind, account_id, due_at, created_at) WHERE (attempts = 0);
CREATE INDEX tasks_record ON public.tasks USING btree (record_id, kind);

create table totp_factors (
  person_id uuid not null,
  seed bytea not null,
  last_step bigint not null,
  created_at timestamp with time zone not null,
  mac bytea,
  constraint totp_factors_pkey PRIMARY KEY (person_id),
  constraint totp_factors_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(id)
);

create table travel_records (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  kind text not null,
  record_id uuid not null,
  token text not null,
  chain text not null,
  amount bigint not null,
  amount_usd bigint not null,
  status text not null,
  missing text[] not null,
  content bytea not null,
  created_at timestamp with time zone not null,
  constraint travel_records_pkey PRIMARY KEY (account_id, id),
  constraint travel_records_amount_check CHECK ((amount > 0)),
  constraint travel_records_amount_usd_check CHECK ((amount_usd >= 0)),
  constraint travel_records_kind_check CHECK ((kind = ANY (ARRAY['onramp'::text, 'refund'::text]))),
  constraint travel_records_status_check CHECK ((status = ANY (ARRAY['complete'::text, 'incomplete'::text]))),
  constraint travel_records_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX travel_records_list ON public.travel_records USING btree (account_id, user_id, id);
CREATE INDEX travel_records_list_by_status ON public.travel_records USING btree (account_id, status, id);
CREATE UNIQUE INDEX travel_records_transfer ON public.travel_records USING btree (account_id, record_id);

create table unapproved_amounts (
  account_id uuid not null,
  record_id uuid not null,
  amount_usd bigint not null,
  created_at timestamp with time zone not null,
  mac bytea,
  constraint unapproved_amounts_pkey PRIMARY KEY (account_id, record_id),
  constraint unapproved_amounts_amount_usd_check CHECK ((amount_usd >= 0)),
  constraint unapproved_amounts_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX unapproved_amounts_by_time ON public.unapproved_amounts USING btree (account_id, created_at);

create table users (
  account_id uuid not null,
  id uuid not null,
  beneficiary_type text not null,
  email_index bytea,
  identity bytea,
  kyc_status text not null,
  kyc_comment bytea,
  kyc_usd_status text not null,
  kyc_usd_swift_status text not null,
  kyc_eur_status text not null,
  kyc_eur_swift_status text not null,
  sequence integer not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  erased_at timestamp with time zone,
  frozen_at timestamp with time zone,
  deactivated_at timestamp with time zone,
  screening_version text,
  screening_status text not null default 'clear'::text,
  screening_held_at timestamp with time zone,
  mac bytea,
  constraint users_pkey PRIMARY KEY (account_id, id),
  constraint users_beneficiary_type_check CHECK ((beneficiary_type = ANY (ARRAY['individual'::text, 'business'::text]))),
  constraint users_check CHECK (((erased_at IS NULL) = (identity IS NOT NULL))),
  constraint users_check1 CHECK (((erased_at IS NULL) = (email_index IS NOT NULL))),
  constraint users_screening_status_check CHECK ((screening_status = ANY (ARRAY['clear'::text, 'possible_match'::text, 'match'::text, 'confirmed'::text]))),
  constraint users_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX users_by_kyc_change ON public.users USING btree (account_id, kyc_status, updated_at, id) WHERE (erased_at IS NULL);
CREATE UNIQUE INDEX users_email ON public.users USING btree (email_index, account_id);
CREATE INDEX users_list ON public.users USING btree (account_id, id) WHERE (erased_at IS NULL);
CREATE INDEX users_list_by_kyc ON public.users USING btree (account_id, kyc_status, id) WHERE (erased_at IS NULL);

create table verifications (
  id uuid not null,
  at timestamp with time zone not null,
  accounts integer not null,
  fault text,
  has_anchors boolean not null,
  took_ms integer not null,
  mac bytea not null,
  constraint verifications_pkey PRIMARY KEY (id)
);
CREATE INDEX verifications_newest ON public.verifications USING btree (at DESC);

create table webhook_attempts (
  account_id uuid not null,
  delivery_id uuid not null,
  number integer not null,
  at timestamp with time zone not null,
  status integer,
  error text,
  latency_ms integer not null,
  answer bytea,
  constraint webhook_attempts_pkey PRIMARY KEY (account_id, delivery_id, number)
);

create table webhook_deliveries (
  account_id uuid not null,
  id uuid not null,
  app_id uuid not null,
  event_account_id uuid not null,
  event_id uuid not null,
  name text not null,
  record_id uuid not null,
  sequence integer not null,
  body bytea,
  status text not null,
  reason text,
  attempts integer not null default 0,
  attempts_before integer not null default 0,
  next_attempt_at timestamp(3) with time zone,
  delivered_at timestamp with time zone,
  answered integer,
  latency_ms integer,
  answer bytea,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  failed_at timestamp with time zone,
  constraint webhook_deliveries_pkey PRIMARY KEY (account_id, id),
  constraint webhook_deliveries_check CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
  constraint webhook_deliveries_check1 CHECK (((status = 'delivered'::text) = (answered IS NOT NULL))),
  constraint webhook_deliveries_check2 CHECK (((status = 'failed'::text) OR (failed_at IS NULL))),
  constraint webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'skipped'::text])))
);
CREATE UNIQUE INDEX webhook_deliveries_event ON public.webhook_deliveries USING btree (account_id, event_id, app_id);
CREATE INDEX webhook_deliveries_failed ON public.webhook_deliveries USING btree (failed_at) WHERE (failed_at IS NOT NULL);

create table webhook_queue (
  account_id uuid not null,
  app_id uuid not null,
  due_at timestamp(3) with time zone not null,
  delivery_id uuid not null,
  event_account_id uuid not null,
  event_id uuid not null,
  record_id uuid not null,
  sequence integer not null,
  is_sample boolean not null,
  attempts integer not null,
  attempts_before integer not null,
  constraint webhook_queue_pkey PRIMARY KEY (account_id, app_id, due_at, delivery_id)
);
CREATE INDEX webhook_queue_order ON public.webhook_queue USING btree (record_id, uuid_hash(app_id), sequence) WHERE (sequence >= 0);

create table webhook_replays (
  account_id uuid not null,
  id uuid not null,
  app_id uuid not null,
  since timestamp with time zone not null,
  until timestamp with time zone not null,
  only_failed boolean not null,
  deliveries integer,
  created_at timestamp with time zone not null,
  constraint webhook_replays_pkey PRIMARY KEY (account_id, id),
  constraint webhook_replays_account_id_app_id_fkey FOREIGN KEY (account_id, app_id) REFERENCES apps(account_id, id)
);

create table worker_heartbeats (
  worker_id uuid not null,
  seen_at timestamp with time zone not null,
  progressed_at timestamp with time zone,
  constraint worker_heartbeats_pkey PRIMARY KEY (worker_id)
);
