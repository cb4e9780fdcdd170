-- Breaks running code: no
set local lock_timeout = '5s';

-- A look-up table leads from a secret or an address to its account. It may be on another machine
-- than the account's data, so it refers to it without a foreign key: the code deletes both.
alter table api_key_hashes drop constraint api_key_hashes_account_id_api_key_id_fkey;
alter table app_ids drop constraint app_ids_account_id_id_fkey;
alter table deposit_codes drop constraint deposit_codes_account_id_onramp_id_fkey;
alter table invoice_links drop constraint invoice_links_account_id_invoice_id_fkey;
alter table invoice_request_ids drop constraint invoice_request_ids_account_id_invoice_id_fkey;
alter table invoice_transfers drop constraint invoice_transfers_account_id_invoice_id_fkey;
alter table kyc_tokens drop constraint kyc_tokens_account_id_session_id_fkey;
alter table sessions drop constraint sessions_account_id_person_id_fkey;
