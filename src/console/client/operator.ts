/** Made by `npm run client` from the description of /admin/v1: never edited by hand. */

export type Customer = {
  customer_id: string
  name: string
  login: string | null
  note: string | null
  balance_rub: number
  created_at: string
  blocked_at: string | null
  has_second_factor?: boolean
}
export type Token = {
  token_id: string
  begins: string
  name: string
  scopes: readonly string[]
  cap_rub: number | null
  from: readonly string[]
  created_at: string
  expires_at: string | null
  revoked_at: string | null
  used_at: string | null
  used_from: string | null
}
export type Movement = {
  transaction: number
  at: string
  kind: 'credit' | 'charge' | 'refund' | 'debit'
  amount_rub: number
  balance_rub: number
  order_id: string | null
  key: string | null
  reference: string | null
  note: string
}
export type AnyOrder = {
  order_id: string
  customer_id: string
  product: string
  action: string
  price_rub: number
  transaction: number | null
  token_id: string | null
  request: Readonly<Record<string, unknown>>
  calculation: Readonly<Record<string, unknown>>
  created_at: string
  request_id: string | null
  idempotency_key: string | null
}
export type AnyEvent = {
  id: number
  type: string
  timestamp: string
  order_id: string | null
  data: Readonly<Record<string, unknown>>
}
export type AnyPayment = {
  payment_id: string
  customer_id: string
  customer_name: string
  state: 'new' | 'pending' | 'paid' | 'expired' | 'cancelled' | 'refunded'
  provider: string
  provider_id: string | null
  method: string
  amount_rub: number
  fee_rub: number
  refunded_rub: number
  pay_url: string | null
  created_at: string
  expires_at: string
}
export type PaymentNotice = {
  notice_id: string
  at: string
  provider: string
  provider_id: string
  reason: 'unknown' | 'not_at_provider' | 'amount' | 'currency' | 'test' | 'twice' | 'excess'
  meaning: string
  payment_id: string | null
  amount: number | null
  currency: string | null
  resolved_at: string | null
  resolution: string | null
}
export type Reconciliation = {
  state: 'never' | 'running' | 'done' | 'failed'
  started_at: string | null
  ended_at: string | null
  compared: number
  differences: readonly {
    provider: string
    payment_id: string | null
    provider_id: string | null
    problem: string
    reason: string
    params: Readonly<Record<string, unknown>>
  }[]
  problem: string | null
  reason: string | null
  params: Readonly<Record<string, unknown>>
}
export type PaymentProvider = {
  name: string
  state: 'not_set_up' | 'enabled' | 'disabled'
  settings: Readonly<Record<string, string>>
  wants: readonly { name: string; meaning: string; required: boolean }[]
  wants_secret: boolean
  methods: readonly { method: string; min_rub: number; max_rub: number; fee_percent: number }[]
  health: { answered_at: string | null; failed_at: string | null; failure: 'refused' | 'unavailable' | null } | null
}
export type Code = {
  name: string
  amount_rub: number | null
  percent: number | null
  least_rub: number
  uses: number | null
  used: number
  until: string | null
  ended_at: string | null
  note: string
}
export type Subscription = {
  uuid: string
  customer_id: string
  customer_name: string
  status: string
  expires_at: string
  device_limit: number
  auto_renew_months: number | null
  node: 'online' | 'offline'
  devices: readonly {
    device_id: string
    name: string
    public_key: string
    ipv4: string
    ipv6: string
    rx_bytes: number
    tx_bytes: number
  }[]
}
export type Place = {
  place: number
  address: string
  slot: number
  country: string
  ipv: number
  state: string
  rest_until: string | null
  retiring: boolean
  carrier: string | null
}
export type Range = {
  range: string
  nodes: readonly string[]
  block: boolean
  retired: boolean
  places: number
  served: number
  served_by: readonly string[]
  problems: readonly string[]
}
export type Node = {
  node_id: string
  name: string
  kind: 'gateway' | 'vpn'
  location: string
  country_code: string | null
  city: string | null
  endpoint: { host: string; port: number } | null
  public_key: string | null
  state: 'online' | 'offline' | 'closed'
  version: string | null
  joined_at: string | null
  last_seen_at: string | null
  lag_ms: number | null
  tunnels: number | null
  carried_bytes: number | null
  relayed_bytes: number | null
  refused_bytes: number
  held_bytes: number
  accounts_at_limit: number
  most_ports: number | null
  unproven_ranges: number
  link_mbit: number
  interface_mbit: number | null
  drained_at: string | null
  is_entry: boolean
  paths: readonly {
    entry: string
    exit: string
    over: 'tls' | 'plain'
    state: 'up' | 'down' | 'unknown'
    reason: string | null
    since: string | null
  }[]
}
export type JoinKey = {
  node_id: string
  name: string
  kind: string
  key: string
  expires_at: string | null
  command: string
  service_commands: readonly string[]
}
export type Exit = {
  exit_id: string
  pool: string
  kind: string
  host: string
  port: number | null
  country: string
  state: string
  city: string
  zip: string
  asn: number | null
  offers: { countries: 'any' | readonly string[]; parts: readonly string[] } | null
  node: string | null
  drained_at: string | null
  status: 'serving' | 'down' | 'untried' | 'drained'
  said: readonly { node: string; up: boolean; since: string; reason: string; at: string }[]
}
export type Operator = { operator_id: string; name: string; role: 'owner' | 'support' | 'reader'; created_at: string }
export type OperatorToken = {
  token_id: string
  begins: string
  name: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
}
export type AuditEntry = {
  seq: number
  at: string
  operator_id: string | null
  name: string
  role: string
  action: string
  request: Readonly<Record<string, unknown>>
  customer_name: string | null
  source: string | null
  hash: string
}
export type Verification = {
  state: 'none' | 'running' | 'done' | 'failed'
  started_at: string | null
  ended_at: string | null
  part: string | null
  done: number
  ok: boolean | null
  found: number | null
  findings: readonly {
    promise: string
    promise_name: string
    where: string
    problem: string
    advice: string
    reason: string
    params: Readonly<Record<string, unknown>>
  }[]
  covered: Readonly<Record<string, number>>
  notes: readonly string[]
}

export type Operations = {
  getOverview: {
    query: { days?: number }
    answer: {
      days: readonly {
        day: string
        sold_rub: number
        refunded_rub: number
        revenue_rub: number
        orders: number
        products: Readonly<Record<string, number>>
      }[]
      customers: number
      active: { proxies: number; interrupted: number; vpn: number }
      stock: readonly { country: string; ipv: number; free: number; leased: number; resting: number; retired: number }[]
      nodes: { online: number; offline: number; closed: number }
      made_at: string
    }
  }
  getSetup: {
    answer: {
      mode: 'sandbox' | 'production'
      steps: readonly {
        step: 'address' | 'prices' | 'node' | 'stock' | 'payment' | 'customer' | 'purchase'
        done: boolean
      }[]
    }
  }
  search: {
    query: { q: string }
    answer: {
      items: readonly {
        kind: 'customer' | 'proxy' | 'subuser' | 'vpn' | 'device' | 'order' | 'payment'
        id: string
        title: string
        detail: string | null
        amount_rub: number | null
        at: string | null
        customer_id: string
        customer_name: string
      }[]
    }
  }
  listCustomers: {
    query: { limit?: number; cursor?: string; search?: string }
    answer: { items: readonly Customer[]; next_cursor: string | null }
  }
  createCustomer: { body: { name: string }; answer: Customer }
  getCustomer: { params: { customer_id: string }; answer: Customer }
  blockCustomer: { params: { customer_id: string }; body: { undo?: boolean }; answer: Customer }
  noteCustomer: { params: { customer_id: string }; body: { note: string | null }; answer: Customer }
  exportCustomer: {
    params: { customer_id: string }
    query: { limit?: number; cursor?: string }
    answer: { items: readonly { table: string; row: Readonly<Record<string, unknown>> }[]; next_cursor: string | null }
  }
  eraseCustomer: {
    params: { customer_id: string }
    body: { confirm?: boolean }
    answer: {
      customer_id: string
      erased_at: string
      lost: { balance_rub: number; proxies: number; vpn_subscriptions: number; traffic_bytes: number }
      versions: number
      entries: number
    }
  }
  viewCustomer: { params: { customer_id: string }; answer: { expires_at: string } }
  linkCustomer: {
    params: { customer_id: string }
    answer: { link: string | null; sent_to: string | null; expires_at: string }
  }
  removeCustomerFactor: { params: { customer_id: string }; answer: { removed: boolean } }
  listCustomerTokens: { params: { customer_id: string }; answer: { items: readonly Token[] } }
  createCustomerToken: {
    params: { customer_id: string }
    body: {
      name?: string
      scopes?: readonly ('read' | 'trade' | 'pay' | 'passwords')[]
      cap_rub?: number | null
      from?: readonly string[]
      expires_at?: string | null
    }
    answer: { token_id: string; token: string }
  }
  revokeCustomerToken: { params: { token_id: string }; answer: { token_id: string; revoked: boolean } }
  listCustomerProxies: {
    params: { customer_id: string }
    query: { limit?: number; cursor?: string }
    answer: {
      items: readonly {
        proxy: number
        address: string
        country: string
        ipv: number
        status: 'active' | 'expired' | 'gone'
        username: string
        comment: string
        expires_at: string
        auto_renew: number | null
        rx_bytes: number
        tx_bytes: number
      }[]
      next_cursor: string | null
    }
  }
  getCustomerServices: {
    params: { customer_id: string }
    answer: {
      vpn: readonly {
        uuid: string
        status: string
        expires_at: string
        devices: number
        device_limit: number
        auto_renew_months: number | null
        rx_bytes: number
        tx_bytes: number
      }[]
      traffic: readonly {
        subuser_id: string
        login: string
        name: string
        blocked: boolean
        pool: string
        left_bytes: number
        used_bytes: number
      }[]
      usage: readonly { day: string; rx_bytes: number; tx_bytes: number }[]
    }
  }
  creditCustomer: {
    params: { customer_id: string }
    body: { amount_rub: number; note?: string; reference?: string; dry_run?: boolean }
    answer: {
      transaction: number
      at: string
      kind: 'credit' | 'charge' | 'refund' | 'debit'
      amount_rub: number
      balance_rub: number
      order_id: string | null
      key: string | null
      reference: string | null
      note: string
      repeated: boolean
      dry_run?: boolean
    }
  }
  debitCustomer: {
    params: { customer_id: string }
    body: { amount_rub: number; note?: string; reference?: string; dry_run?: boolean }
    answer: Operations['creditCustomer']['answer']
  }
  listMovements: {
    params: { customer_id: string }
    query: { limit?: number; cursor?: string }
    answer: { items: readonly Movement[]; next_cursor: string | null }
  }
  refundOrder: {
    params: { order_id: string }
    body: { amount_rub?: number; again?: boolean; end?: 'unused' | 'whole'; note?: string; dry_run?: boolean }
    answer: {
      customer: string
      order_id: string
      amount_rub: number
      balance_rub: number
      transaction?: number
      proxies?: readonly number[]
      returned_gb?: number
      uuid?: string
      purchase_rub?: number
      prolongation_rub?: number
      services?: readonly {
        proxy: number
        address: string
        paid_rub: number
        used_rub: number
        unused_purchase_rub: number
        unused_prolongation_rub: number
        refunded_purchase_rub: number
        refunded_prolongation_rub: number
      }[]
      replayed?: boolean
      dry_run?: boolean
    }
  }
  refundTraffic: {
    params: { order_id: string }
    body: { note?: string }
    answer: { order_id: string; returned_gb: number; refunded_rub: number; balance_rub: number }
  }
  listCustomerOrders: {
    params: { customer_id: string }
    query: { limit?: number; cursor?: string; request_id?: string; idempotency_key?: string }
    answer: { items: readonly AnyOrder[]; next_cursor: string | null }
  }
  listCustomerEvents: {
    params: { customer_id: string }
    query: { limit?: number; cursor?: string; type?: string }
    answer: { items: readonly AnyEvent[]; next_cursor: string | null }
  }
  getOrderStory: {
    params: { order_id: string }
    answer: {
      order: AnyOrder
      customer_name: string
      transactions: readonly Movement[]
      delivered: readonly Readonly<Record<string, unknown>>[]
      delivered_count: number
      events: readonly AnyEvent[]
    }
  }
  listAllPayments: {
    query: {
      limit?: number
      cursor?: string
      customer_id?: string
      state?: 'new' | 'pending' | 'paid' | 'expired' | 'cancelled' | 'refunded'
    }
    answer: { items: readonly AnyPayment[]; next_cursor: string | null }
  }
  getPaymentSteps: {
    params: { payment_id: string }
    answer: {
      payment: AnyPayment
      steps: readonly {
        step: number
        at: string
        kind: string
        state: 'new' | 'pending' | 'paid' | 'expired' | 'cancelled' | 'refunded'
        amount_rub: number
        transaction: number | null
        note: string
      }[]
    }
  }
  listWaysToPay: {
    answer: {
      items: readonly {
        method: string
        provider: string
        name: string
        min_rub: number
        max_rub: number
        fee_percent: number
      }[]
    }
  }
  markPaid: {
    params: { payment_id: string }
    body: { note?: string }
    answer: {
      payment_id: string
      customer: string
      status: string
      amount_rub: number
      refunded_rub: number
      replayed?: boolean
      dry_run?: boolean
    }
  }
  refundPayment: {
    params: { payment_id: string }
    body: { amount_rub?: number; into_debt?: boolean; note?: string; dry_run?: boolean }
    answer: Operations['markPaid']['answer']
  }
  listUnmatched: { query: { limit?: number; all?: 'true' | 'false' }; answer: { items: readonly PaymentNotice[] } }
  resolveUnmatched: {
    params: { notice_id: string }
    body: { credit_to?: string; note?: string }
    answer: { notice_id: string; resolved: boolean; credited_rub: number | null }
  }
  startReconcile: { body: { from?: string; to?: string; provider?: string }; answer: Reconciliation }
  getReconcile: { answer: Reconciliation }
  listProviders: { answer: { items: readonly PaymentProvider[] } }
  setProvider: {
    params: { name: string }
    body: {
      settings?: Readonly<Record<string, string>>
      secret?: string
      methods?: readonly string[]
      min_rub?: Readonly<Record<string, number>>
      max_rub?: Readonly<Record<string, number>>
      fee_percent?: Readonly<Record<string, number>>
    }
    answer: PaymentProvider
  }
  enableProvider: { params: { name: string }; answer: PaymentProvider }
  disableProvider: { params: { name: string }; answer: PaymentProvider }
  listCodes: { query: { limit?: number }; answer: { items: readonly Code[] } }
  addCode: {
    body: {
      name: string
      amount_rub?: number
      percent?: number
      least_rub?: number
      uses?: number
      until?: string
      note?: string
    }
    answer: { name: string }
  }
  endCode: { params: { name: string }; answer: { name: string; ended: boolean } }
  listReferrals: {
    query: { limit?: number }
    answer: {
      terms: { percent: number; top_ups: number } | null
      items: readonly {
        customer_id: string
        customer_name: string
        referrer_id: string
        referrer_name: string
        at: string
      }[]
    }
  }
  addReferral: {
    body: { customer_id: string; referrer_id: string }
    answer: { customer_id: string; referrer_id: string }
  }
  setReferralTerms: { body: { percent: number; top_ups?: number }; answer: { percent: number; top_ups: number } }
  reportDays: {
    query: { from?: string; to?: string }
    answer: {
      items: readonly {
        day: string
        turnover_rub: number
        refunded_rub: number
        topped_up_rub: number
        taken_back_rub: number
        held_rub: number
        revenue_rub: number
      }[]
    }
  }
  reportProducts: {
    query: { from?: string; to?: string }
    answer: { items: readonly { day: string; product: string; kind: string; count: number; amount_rub: number }[] }
  }
  reportMethods: {
    query: { from?: string; to?: string }
    answer: {
      items: readonly {
        day: string
        method: string
        payments: number
        topped_up_rub: number
        fees_rub: number
        taken_back_rub: number
        bonuses_rub: number
      }[]
    }
  }
  listInterrupted: {
    query: { limit?: number; cursor?: string }
    answer: {
      items: readonly {
        proxy: number
        customer_id: string
        customer_name: string
        address: string
        node: string | null
        since: string
        reason: string | null
      }[]
      next_cursor: string | null
    }
  }
  showProxy: {
    params: { proxy: string }
    answer: {
      proxy: number
      customer_id: string
      customer_name: string
      order_id: string
      status: 'active' | 'expired' | 'gone'
      address: string
      node: string | null
      country: string
      ipv: number
      port_type: string
      username: string
      comment: string
      started_at: string
      expires_at: string
      ended_at: string | null
      interrupted_at: string | null
      interrupted_by: string | null
      auto_renew: number | null
      rx_bytes: number
      tx_bytes: number
      addresses: readonly { address: string; from: string; until: string | null }[]
    }
  }
  checkProxy: {
    params: { proxy: string }
    answer: { proxy: number; works: boolean; took_ms: number | null; problem: string | null }
  }
  endProxy: {
    params: { proxy: string }
    body: { refund?: boolean; note?: string; dry_run?: boolean }
    answer: {
      customer: string
      proxy: number
      amount_rub: number
      purchase_rub?: number
      prolongation_rub?: number
      services?: readonly {
        proxy: number
        address: string
        paid_rub: number
        used_rub: number
        unused_purchase_rub: number
        unused_prolongation_rub: number
        refunded_purchase_rub: number
        refunded_prolongation_rub: number
      }[]
      balance_rub: number
      replayed?: boolean
      dry_run?: boolean
    }
  }
  replaceProxy: {
    params: { proxy: string }
    body: { note?: string }
    answer: { customer: string; proxy: number; from: string; to: string; at: string; replayed?: boolean }
  }
  showVpn: { params: { uuid: string }; answer: Subscription }
  moveVpn: { params: { uuid: string }; body: { node: string }; answer: { uuid: string; node: string; devices: number } }
  disableVpn: { params: { uuid: string }; answer: { uuid: string; disabled: boolean } }
  enableVpn: { params: { uuid: string }; answer: { uuid: string; disabled: boolean } }
  getCatalogue: {
    query: { version?: number }
    answer: { version: number; applied_at: string; catalogue: Readonly<Record<string, unknown>> }
  }
  listCatalogues: {
    answer: {
      items: readonly {
        version: number
        applied_at: string
        applied_by: string | null
        change_count: number
        changes: readonly string[]
      }[]
    }
  }
  convertCatalogue: { body: { text: string }; answer: { catalogue: Readonly<Record<string, unknown>>; yaml: string } }
  compareCatalogue: {
    body: { catalogue: Readonly<Record<string, unknown>> }
    answer: {
      changes: readonly string[]
      effects: readonly {
        product: 'dedicated' | 'premium' | 'vpn'
        country: string | null
        ipv: number | null
        pool: string | null
        customers: number
        services: number
        renewals: number
        before_rub: number
        after_rub: number
        lost: number
      }[]
    }
  }
  applyCatalogue: {
    body: { catalogue: Readonly<Record<string, unknown>> }
    answer: { version: number | null; changes: readonly string[] }
  }
  listPlaces: {
    query: {
      limit?: number
      cursor?: string
      country?: string
      ipv?: number
      state?: 'free' | 'leased' | 'resting' | 'retired'
    }
    answer: { items: readonly Place[]; next_cursor: string | null }
  }
  countPlaces: { answer: { items: readonly { country: string; ipv: number; state: string; count: number }[] } }
  listBlocks: {
    answer: {
      items: readonly {
        prefix: string
        country: string
        carrier: string | null
        added_at: string
        retired_at: string | null
      }[]
    }
  }
  listRanges: { query: { all?: 'true' | 'false' }; answer: { items: readonly Range[] } }
  surveyRange: {
    query: { prefix: string }
    answer: {
      prefix: string
      kinds: readonly Readonly<Record<string, unknown>>[]
      blocks: readonly string[]
      proxies: readonly number[]
      customers: number
      unused_rub: number
    }
  }
  findHolders: {
    params: { address: string }
    query: { from: string; to?: string; reason: string; host?: string }
    answer: {
      items: readonly {
        customer_id: string
        customer_name: string
        proxy: number
        order_id: string
        username: string
        from: string
        until: string | null
      }[]
      devices: readonly {
        customer_id: string
        customer_name: string
        device_id: string
        uuid: string
        from: string
        until: string | null
      }[]
      is_exit: boolean
      candidates: readonly {
        customer_id: string
        customer_name: string
        subuser_id: string
        login: string
        pool: string
        hour: string
        rx_bytes: number
        tx_bytes: number
      }[]
    }
  }
  addStock: {
    body: { prefix?: string; addresses?: readonly string[]; country: string; ipv: 3 | 4 | 6; nodes?: readonly string[] }
    answer: { added: number }
  }
  assignRange: { body: { prefix: string; nodes: readonly string[] }; answer: { prefix: string; ranges: number } }
  moveRange: {
    body: { prefix: string; nodes: readonly string[]; dry_run?: boolean }
    answer: { dry_run: boolean; ranges: number; proxies: readonly number[]; customers: number; away: readonly string[] }
  }
  retireRange: {
    body: { prefix: string; undo?: boolean; replace?: boolean; refund?: boolean; note?: string }
    answer: {
      places: number
      interrupted: number
      restored: number
      replaced: readonly number[]
      ended: readonly number[]
      waiting: readonly number[]
    }
  }
  quarantineRange: {
    body: { prefix: string; undo?: boolean; replace?: boolean; refund?: boolean; note?: string }
    answer: Operations['retireRange']['answer']
  }
  retireAddress: { params: { address: string }; body: { undo?: boolean }; answer: { address: string; places: number } }
  quarantineAddress: {
    params: { address: string }
    body: { days?: number }
    answer: { address: string; places: number; days: number }
  }
  listNodes: { answer: { items: readonly Node[] } }
  addNode: {
    body: {
      name: string
      kind?: 'gateway' | 'vpn'
      location?: string
      country?: string
      city?: string
      endpoint?: { host: string; port: number }
      link_mbit?: number
    }
    answer: JoinKey
  }
  showNode: {
    params: { name: string }
    answer: {
      node: Node
      settings_host: string | null
      serves: boolean
      ranges: readonly {
        range: string
        can_use: number
        problems: readonly string[]
        seen_as: string | null
        since: string
      }[]
    }
  }
  linkNode: { params: { name: string }; body: { link_mbit: number }; answer: Node }
  endpointNode: { params: { name: string }; body: { host: string; port: number }; answer: Node }
  entryNode: { params: { name: string }; body: { undo?: boolean }; answer: Node }
  exitNode: { params: { name: string }; body: { via?: string }; answer: Node }
  renameNode: { params: { name: string }; body: { new_name: string }; answer: Node }
  revokeNode: { params: { name: string }; answer: Node }
  closeNode: { params: { name: string }; answer: Node }
  openNode: { params: { name: string }; answer: Node }
  removeNode: { params: { name: string }; answer: { node_id: string; name: string; removed: boolean } }
  drainNode: { params: { name: string }; body: { undo?: boolean }; answer: Node }
  forgetUsage: {
    params: { name: string }
    body: { since?: string; dry_run?: boolean }
    answer: { name: string; dry_run: boolean; things: number; bytes: number }
  }
  getNodeHistory: {
    params: { name: string }
    query: { span?: 'day' | 'month' }
    answer: {
      items: readonly {
        at: string
        tunnels: number
        lag_ms: number
        bytes_per_second: number
        cpu_percent: number | null
        errors_per_minute: number | null
      }[]
    }
  }
  keyNode: { params: { name: string }; answer: JoinKey }
  listPools: {
    answer: {
      items: readonly {
        pool: string
        sold: boolean
        from_rub_per_gb: number
        expires_days: number | null
        exits: number
        serving: number
      }[]
    }
  }
  listExits: {
    query: { limit?: number; cursor?: string; pool?: string }
    answer: { items: readonly Exit[]; next_cursor: string | null }
  }
  addExit: {
    body: {
      pool: string
      local?: string
      upstream?: string
      username?: string
      password?: string
      node?: string
      countries?: string
      country?: string
      state?: string
      city?: string
      zip?: string
      asn?: number
    }
    answer: { exit_id: string; pool: string; host: string }
  }
  drainExit: { params: { exit_id: string }; body: { undo?: boolean }; answer: { exit_id: string; drained: boolean } }
  assignExit: {
    params: { exit_id: string }
    body: { node?: string; any?: boolean }
    answer: { exit_id: string; node: string | null }
  }
  removeExit: { params: { exit_id: string }; answer: { exit_id: string; removed: boolean } }
  compareExit: {
    params: { exit_id: string }
    body: { from: string; to: string; supplied_bytes?: number; days?: readonly { day: string; bytes: number }[] }
    answer: {
      carried_bytes: number
      supplied_bytes: number
      difference_bytes: number
      difference_percent: number | null
      days: readonly { day: string; carried_bytes: number; supplied_bytes: number | null }[]
    }
  }
  listQuarantined: {
    answer: { items: readonly { node: string; boot: string; subject: string; bytes: number; at: string }[] }
  }
  listOperators: { answer: { items: readonly Operator[] } }
  addOperator: {
    body: { name: string; role: 'owner' | 'support' | 'reader' }
    answer: {
      operator_id: string
      name: string
      role: 'owner' | 'support' | 'reader'
      created_at: string
      link: string
      expires_at: string
    }
  }
  linkOperator: { params: { operator: string }; answer: Operations['addOperator']['answer'] }
  setOperatorRole: { params: { operator: string }; body: { role: 'owner' | 'support' | 'reader' }; answer: Operator }
  removeOperator: { params: { operator: string }; answer: { name: string; removed: boolean } }
  listOperatorTokens: { params: { operator: string }; answer: { items: readonly OperatorToken[] } }
  createOperatorToken: {
    params: { operator: string }
    body: { name?: string; expires_at?: string }
    answer: {
      token_id: string
      begins: string
      name: string
      created_at: string
      expires_at: string | null
      revoked_at: string | null
      token: string
    }
  }
  revokeOperatorToken: { params: { token_id: string }; answer: { token_id: string; revoked: boolean } }
  listAuditLog: {
    query: { limit?: number; cursor?: string; operator_id?: string; action?: string }
    answer: { items: readonly AuditEntry[]; next_cursor: string | null }
  }
  startVerify: { body: { against?: readonly { number?: number; hash: string }[] }; answer: Verification }
  getVerify: { answer: Verification }
  makeCheckpoint: {
    answer: { checkpoint: { number: number; accounts: number; postings: number; hash: string } | null }
  }
}

export const operations = {
  getOverview: ['GET', '/overview', 'reader'],
  getSetup: ['GET', '/setup', 'reader'],
  search: ['GET', '/search', 'reader'],
  listCustomers: ['GET', '/customers', 'reader'],
  createCustomer: ['POST', '/customers', 'support'],
  getCustomer: ['GET', '/customers/{customer_id}', 'reader'],
  blockCustomer: ['POST', '/customers/{customer_id}/block', 'support'],
  noteCustomer: ['POST', '/customers/{customer_id}/note', 'support'],
  exportCustomer: ['GET', '/customers/{customer_id}/export', 'owner'],
  eraseCustomer: ['POST', '/customers/{customer_id}/erase', 'owner'],
  viewCustomer: ['POST', '/customers/{customer_id}/view', 'support'],
  linkCustomer: ['POST', '/customers/{customer_id}/link', 'support'],
  removeCustomerFactor: ['POST', '/customers/{customer_id}/remove-factor', 'owner'],
  listCustomerTokens: ['GET', '/customers/{customer_id}/tokens', 'reader'],
  createCustomerToken: ['POST', '/customers/{customer_id}/tokens', 'owner'],
  revokeCustomerToken: ['POST', '/tokens/{token_id}/revoke', 'support'],
  listCustomerProxies: ['GET', '/customers/{customer_id}/proxies', 'reader'],
  getCustomerServices: ['GET', '/customers/{customer_id}/services', 'reader'],
  creditCustomer: ['POST', '/customers/{customer_id}/credit', 'keyed', 'support'],
  debitCustomer: ['POST', '/customers/{customer_id}/debit', 'keyed', 'support'],
  listMovements: ['GET', '/customers/{customer_id}/transactions', 'reader'],
  refundOrder: ['POST', '/orders/{order_id}/refund', 'keyed', 'support'],
  refundTraffic: ['POST', '/orders/{order_id}/refund-traffic', 'support'],
  listCustomerOrders: ['GET', '/customers/{customer_id}/orders', 'reader'],
  listCustomerEvents: ['GET', '/customers/{customer_id}/events', 'reader'],
  getOrderStory: ['GET', '/orders/{order_id}', 'reader'],
  listAllPayments: ['GET', '/payments', 'reader'],
  getPaymentSteps: ['GET', '/payments/{payment_id}', 'reader'],
  listWaysToPay: ['GET', '/payment-methods', 'reader'],
  markPaid: ['POST', '/payments/{payment_id}/mark-paid', 'keyed', 'support'],
  refundPayment: ['POST', '/payments/{payment_id}/refund', 'keyed', 'support'],
  listUnmatched: ['GET', '/payment-notices', 'reader'],
  resolveUnmatched: ['POST', '/payment-notices/{notice_id}/resolve', 'support'],
  startReconcile: ['POST', '/payment-reconciliation', 'support'],
  getReconcile: ['GET', '/payment-reconciliation', 'reader'],
  listProviders: ['GET', '/payment-providers', 'reader'],
  setProvider: ['POST', '/payment-providers/{name}', 'owner'],
  enableProvider: ['POST', '/payment-providers/{name}/enable', 'owner'],
  disableProvider: ['POST', '/payment-providers/{name}/disable', 'owner'],
  listCodes: ['GET', '/codes', 'reader'],
  addCode: ['POST', '/codes', 'support'],
  endCode: ['POST', '/codes/{name}/end', 'support'],
  listReferrals: ['GET', '/referrals', 'reader'],
  addReferral: ['POST', '/referrals', 'support'],
  setReferralTerms: ['POST', '/referrals/terms', 'owner'],
  reportDays: ['GET', '/reports/days', 'reader'],
  reportProducts: ['GET', '/reports/products', 'reader'],
  reportMethods: ['GET', '/reports/methods', 'reader'],
  listInterrupted: ['GET', '/proxies/interrupted', 'reader'],
  showProxy: ['GET', '/proxies/{proxy}', 'reader'],
  checkProxy: ['POST', '/proxies/{proxy}/check', 'support'],
  endProxy: ['POST', '/proxies/{proxy}/end', 'keyed', 'support'],
  replaceProxy: ['POST', '/proxies/{proxy}/replace', 'keyed', 'support'],
  showVpn: ['GET', '/vpn/{uuid}', 'reader'],
  moveVpn: ['POST', '/vpn/{uuid}/move', 'support'],
  disableVpn: ['POST', '/vpn/{uuid}/disable', 'support'],
  enableVpn: ['POST', '/vpn/{uuid}/enable', 'support'],
  getCatalogue: ['GET', '/catalogue', 'reader'],
  listCatalogues: ['GET', '/catalogue/versions', 'reader'],
  convertCatalogue: ['POST', '/catalogue/convert', 'reader'],
  compareCatalogue: ['POST', '/catalogue/diff', 'reader'],
  applyCatalogue: ['POST', '/catalogue/apply', 'owner'],
  listPlaces: ['GET', '/stock', 'reader'],
  countPlaces: ['GET', '/stock/count', 'reader'],
  listBlocks: ['GET', '/stock/blocks', 'reader'],
  listRanges: ['GET', '/stock/ranges', 'reader'],
  surveyRange: ['GET', '/stock/survey', 'reader'],
  findHolders: ['GET', '/addresses/{address}/holders', 'support'],
  addStock: ['POST', '/stock/add', 'owner'],
  assignRange: ['POST', '/stock/assign', 'owner'],
  moveRange: ['POST', '/stock/move', 'owner'],
  retireRange: ['POST', '/stock/retire', 'owner'],
  quarantineRange: ['POST', '/stock/quarantine', 'owner'],
  retireAddress: ['POST', '/stock/addresses/{address}/retire', 'owner'],
  quarantineAddress: ['POST', '/stock/addresses/{address}/quarantine', 'owner'],
  listNodes: ['GET', '/nodes', 'reader'],
  addNode: ['POST', '/nodes', 'owner'],
  showNode: ['GET', '/nodes/{name}', 'reader'],
  linkNode: ['POST', '/nodes/{name}/link', 'owner'],
  endpointNode: ['POST', '/nodes/{name}/endpoint', 'owner'],
  entryNode: ['POST', '/nodes/{name}/entry', 'owner'],
  exitNode: ['POST', '/nodes/{name}/exit', 'owner'],
  renameNode: ['POST', '/nodes/{name}/rename', 'owner'],
  revokeNode: ['POST', '/nodes/{name}/revoke', 'owner'],
  closeNode: ['POST', '/nodes/{name}/close', 'owner'],
  openNode: ['POST', '/nodes/{name}/open', 'owner'],
  removeNode: ['POST', '/nodes/{name}/remove', 'owner'],
  drainNode: ['POST', '/nodes/{name}/drain', 'owner'],
  forgetUsage: ['POST', '/nodes/{name}/forget-usage', 'owner'],
  getNodeHistory: ['GET', '/nodes/{name}/history', 'reader'],
  keyNode: ['POST', '/nodes/{name}/key', 'owner'],
  listPools: ['GET', '/pools', 'reader'],
  listExits: ['GET', '/exits', 'reader'],
  addExit: ['POST', '/exits', 'owner'],
  drainExit: ['POST', '/exits/{exit_id}/drain', 'owner'],
  assignExit: ['POST', '/exits/{exit_id}/assign', 'owner'],
  removeExit: ['POST', '/exits/{exit_id}/remove', 'owner'],
  compareExit: ['POST', '/exits/{exit_id}/compare', 'reader'],
  listQuarantined: ['GET', '/usage/quarantine', 'reader'],
  listOperators: ['GET', '/operators', 'owner'],
  addOperator: ['POST', '/operators', 'owner'],
  linkOperator: ['POST', '/operators/{operator}/link', 'owner'],
  setOperatorRole: ['POST', '/operators/{operator}/role', 'owner'],
  removeOperator: ['POST', '/operators/{operator}/remove', 'owner'],
  listOperatorTokens: ['GET', '/operators/{operator}/tokens', 'owner'],
  createOperatorToken: ['POST', '/operators/{operator}/tokens', 'owner'],
  revokeOperatorToken: ['POST', '/operators/tokens/{token_id}/revoke', 'owner'],
  listAuditLog: ['GET', '/audit', 'owner'],
  startVerify: ['POST', '/verify', 'support'],
  getVerify: ['GET', '/verify', 'reader'],
  makeCheckpoint: ['POST', '/checkpoint', 'owner'],
} as const
