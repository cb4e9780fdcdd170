-- Breaks running code: yes
set local lock_timeout = '5s';

-- Rows that decide about money carry a MAC of the process that wrote them (decision 36). An older
-- version writes none.
alter table payouts add column mac bytea;
alter table quotes add column mac bytea;
alter table deposits add column mac bytea;
alter table refund_addresses add column mac bytea;
alter table refunds add column mac bytea;
alter table price_versions add column mac bytea;
alter table payment_details add column mac bytea;
alter table api_keys add column mac bytea;
alter table api_key_hashes add column mac bytea;
alter table members add column mac bytea;
alter table people add column mac bytea;
