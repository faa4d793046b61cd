-- Rows that are as they were at first have no version, and on PostgreSQL what they say was written out all the same, only to
-- be dropped: most addresses in stock, three times over at each `verify`. They are left out before.
-- @postgres
CREATE OR REPLACE VIEW row_contents AS
  SELECT 'shop' AS of_table, CAST(one AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{mode,opened_at}') AS content
  FROM shop AS each
  UNION ALL SELECT 'migrations' AS of_table, CAST(name AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{checksum,applied_at}') AS content
  FROM migrations AS each
  UNION ALL SELECT 'customers' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{name,created_at,blocked_at}') AS content
  FROM customers AS each
  UNION ALL SELECT 'tokens' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,digest,hint,name,scopes,allowed_from,cap_kopecks,
      created_at,expires_at,revoked_at}') AS content
  FROM tokens AS each
  UNION ALL SELECT 'catalogues' AS of_table, CAST(version AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{text,applied_at}') AS content
  FROM catalogues AS each
  UNION ALL SELECT 'nodes' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{kind,name,location,country_code,city,endpoint_host,endpoint_port,
      public_key,"?private_key",state,created_at,key_digest,
      key_expires_at,key_used_at,secret_digest,joined_at,link_mbit}') AS content
  FROM nodes AS each
  UNION ALL SELECT 'exits' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{pool,kind,host,port,"?credentials",country,state,city,zip,asn,
      drained_at,created_at,changed_at}') AS content
  FROM exits AS each
  UNION ALL SELECT 'stock_prefixes' AS of_table, CAST(prefix AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{country,ipv,added_at,retired_at}') AS content
  FROM stock_prefixes AS each
  UNION ALL SELECT 'subusers' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,login,name,is_default,digest,blocked_at,deleted_at,
      heir_id,closing_order,day_bytes,month_bytes,total_bytes,tunnels,
      keep_hosts,created_at}') AS content
  FROM subusers AS each
  UNION ALL SELECT 'whitelist_entries' AS of_table, CAST(subuser_id AS text) || ' ' || CAST(prefix AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{comment,created_at}') AS content
  FROM whitelist_entries AS each
  UNION ALL SELECT 'gateway_ports' AS of_table, CAST(port AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{subuser_id,parameters,ttl_minutes,session,created_at}') AS content
  FROM gateway_ports AS each
  UNION ALL SELECT 'vpn_subscriptions' AS of_table, CAST(uuid AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,device_limit,speed_mbit,auto_renew_months,
      renew_token_id,link_digest,created_at,disabled_at,swept_at,deleted_at}') AS content
  FROM vpn_subscriptions AS each
  UNION ALL SELECT 'vpn_peers' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{subscription_uuid,name,public_key,own_key,ipv4,ipv6,location,
      created_at,removed_at}') AS content
  FROM vpn_peers AS each
  UNION ALL SELECT 'proxies' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    NULLIF(row_content(to_jsonb(each), '{port_type,comment,renew_period,renew_token_id}'),
      '''http'','''',NULL,NULL') AS content
  FROM proxies AS each
  WHERE port_type <> 'http' OR comment <> '' OR renew_period IS NOT NULL OR renew_token_id IS NOT NULL
  UNION ALL SELECT 'leases' AS of_table, CAST(place_id AS text) || ' ' || CAST(started_at AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{ended_at,proxy_id}') AS content
  FROM leases AS each WHERE ended_at IS NOT NULL
  UNION ALL SELECT 'stock' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{retiring}') AS content
  FROM stock AS each WHERE retiring <> 0
  UNION ALL SELECT 'counters', CAST(name AS text), 0,
    row_content(to_jsonb(each), '{next}')
  FROM counters AS each
  UNION ALL SELECT 'gateway_port_next', CAST(one AS text), 0,
    row_content(to_jsonb(each), '{next}')
  FROM gateway_port_next AS each
  UNION ALL SELECT 'nodes, last word', CAST(id AS text), 0,
    row_content(to_jsonb(each), '{version,last_seen_at,boot,tunnels,lag_ms,carried}')
  FROM nodes AS each
  UNION ALL SELECT 'usage_boots', CAST(node AS text) || ' ' || CAST(boot AS text), 0,
    row_content(to_jsonb(each), '{last_at,closed_at}')
  FROM usage_boots AS each
  UNION ALL SELECT 'usage_nodes', CAST(node AS text), 0,
    row_content(to_jsonb(each), '{boot,since}')
  FROM usage_nodes AS each
  UNION ALL SELECT 'usage_budgets, refused', CAST(node AS text) || ' ' || CAST(purpose AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{refused,refused_at}'), '''0'',NULL')
  FROM usage_budgets AS each
  UNION ALL SELECT 'whitelist_entries, last use', CAST(subuser_id AS text) || ' ' || CAST(prefix AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{last_used_at}'), 'NULL')
  FROM whitelist_entries AS each
  UNION ALL SELECT 'subusers, last change', CAST(id AS text), 0,
    row_content(to_jsonb(each), '{changed_at}')
  FROM subusers AS each
  UNION ALL SELECT 'vpn_peers, last change', CAST(id AS text), 0,
    row_content(to_jsonb(each), '{last_handshake_at,changed_at}')
  FROM vpn_peers AS each
  UNION ALL SELECT 'vpn_subscriptions, renewal', CAST(uuid AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{renew_after,renew_problem}'), '''0'',NULL')
  FROM vpn_subscriptions AS each
  UNION ALL SELECT 'vpn_addresses', CAST(ipv4 AS text), 0,
    row_content(to_jsonb(each), '{free_at}')
  FROM vpn_addresses AS each WHERE free_at <> 0
  UNION ALL SELECT 'proxies, last change', CAST(id AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{renew_tried_at,changed_at}'),
      row_content(to_jsonb(each), '{none,started_at}'))
  FROM proxies AS each WHERE renew_tried_at IS NOT NULL OR changed_at <> started_at
  UNION ALL SELECT 'stock, rest', CAST(id AS text), 0,
    row_content(to_jsonb(each), '{rest_until}')
  FROM stock AS each WHERE rest_until IS NOT NULL;
CREATE OR REPLACE VIEW row_contents_operators AS
  SELECT 'operator_answers' AS of_table, key AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{request,answer,at}') AS content
  FROM operator_answers AS each
  UNION ALL SELECT 'stock, quarantine', CAST(id AS text), 1, row_content(to_jsonb(each), '{quarantined}')
  FROM stock AS each WHERE quarantined <> 0
  UNION ALL SELECT 'stock_prefixes, quarantine', prefix, 1, NULLIF(row_content(to_jsonb(each), '{quarantined}'), '''0''')
  FROM stock_prefixes AS each
  UNION ALL SELECT 'nodes, hop key', CAST(id AS text), 1, NULLIF(row_content(to_jsonb(each), '{hop_key}'), 'NULL')
  FROM nodes AS each
  UNION ALL SELECT 'exits, node', CAST(id AS text), 1, NULLIF(row_content(to_jsonb(each), '{node_id,offers}'), 'NULL,NULL')
  FROM exits AS each
  UNION ALL SELECT 'vpn_peers, node', CAST(id AS text), 1, NULLIF(row_content(to_jsonb(each), '{node_id}'), 'NULL')
  FROM vpn_peers AS each
  UNION ALL SELECT 'proxies, swap', CAST(id AS text), 1, row_content(to_jsonb(each), '{replaced_by}')
  FROM proxies AS each WHERE replaced_by IS NOT NULL;
CREATE OR REPLACE VIEW row_contents_entrances AS
  SELECT 'proxies, entrance' AS of_table, CAST(id AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    NULLIF(row_content(to_jsonb(each), '{both_protocols,sources,entry_port}'), '''0'','''',NULL') AS content
  FROM proxies AS each WHERE both_protocols <> 0 OR sources <> '' OR entry_port IS NOT NULL
  UNION ALL SELECT 'gateway_ports_resting', CAST(port AS text), 1, row_content(to_jsonb(each), '{since}')
  FROM gateway_ports_resting AS each;
