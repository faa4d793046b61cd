/** Made by `npm run client` from the description of /admin/v1: never edited by hand. */

export type Customer = {
  customer_id: string
  name: string
  login: string | null
  note: string | null
  balance_rub: number
  created_at: string
  blocked_at: string | null
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
  differences: readonly { provider: string; payment_id: string | null; provider_id: string | null; problem: string }[]
  problem: string | null
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
  drained_at: string | null
}

export type JoinKey = {
  node_id: string
  name: string
  kind: string
  key: string
  expires_at: string | null
  command: string
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
  findings: readonly { promise: string; where: string; problem: string; advice: string }[]
  covered: Readonly<Record<string, number>>
  notes: readonly string[]
}

export type Operations = {
  /** GET /overview */
  getOverview: {
    params: {}
    query: { days?: number | undefined }
    body: {}
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
  /** GET /customers */
  listCustomers: {
    params: {}
    query: { limit?: number | undefined; cursor?: string | undefined; search?: string | undefined }
    body: {}
    answer: { items: readonly Customer[]; next_cursor: string | null }
  }
  /** POST /customers */
  createCustomer: { params: {}; query: {}; body: { name: string }; answer: Customer }
  /** GET /customers/{customer_id} */
  getCustomer: { params: { customer_id: string }; query: {}; body: {}; answer: Customer }
  /** POST /customers/{customer_id}/block */
  blockCustomer: { params: { customer_id: string }; query: {}; body: { undo?: boolean | undefined }; answer: Customer }
  /** POST /customers/{customer_id}/note */
  noteCustomer: { params: { customer_id: string }; query: {}; body: { note: string | null }; answer: Customer }
  /** GET /customers/{customer_id}/export */
  exportCustomer: {
    params: { customer_id: string }
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: { items: readonly { table: string; row: Readonly<Record<string, unknown>> }[]; next_cursor: string | null }
  }
  /** POST /customers/{customer_id}/erase */
  eraseCustomer: {
    params: { customer_id: string }
    query: {}
    body: { confirm?: boolean | undefined }
    answer: {
      customer_id: string
      erased_at: string
      lost: { balance_rub: number; proxies: number; vpn_subscriptions: number; traffic_bytes: number }
      versions: number
      entries: number
    }
  }
  /** POST /customers/{customer_id}/view */
  viewCustomer: {
    params: { customer_id: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { expires_at: string }
  }
  /** POST /customers/{customer_id}/link */
  linkCustomer: {
    params: { customer_id: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { link: string | null; sent_to: string | null; expires_at: string }
  }
  /** POST /customers/{customer_id}/remove-factor */
  removeCustomerFactor: {
    params: { customer_id: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { removed: boolean }
  }
  /** GET /customers/{customer_id}/tokens */
  listCustomerTokens: { params: { customer_id: string }; query: {}; body: {}; answer: { items: readonly Token[] } }
  /** POST /customers/{customer_id}/tokens */
  createCustomerToken: {
    params: { customer_id: string }
    query: {}
    body: {
      name?: string | undefined
      scopes?: readonly ('read' | 'trade' | 'pay' | 'passwords')[] | undefined
      cap_rub?: number | null | undefined
      from?: readonly string[] | undefined
      expires_at?: string | null | undefined
    }
    answer: { token_id: string; token: string }
  }
  /** POST /tokens/{token_id}/revoke */
  revokeCustomerToken: {
    params: { token_id: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { token_id: string; revoked: boolean }
  }
  /** POST /customers/{customer_id}/credit */
  creditCustomer: {
    params: { customer_id: string }
    query: {}
    body: { amount_rub: number; note?: string | undefined; reference?: string | undefined }
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
    }
  }
  /** POST /customers/{customer_id}/debit */
  debitCustomer: {
    params: { customer_id: string }
    query: {}
    body: { amount_rub: number; note?: string | undefined; reference?: string | undefined }
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
    }
  }
  /** GET /customers/{customer_id}/transactions */
  listMovements: {
    params: { customer_id: string }
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: { items: readonly Movement[]; next_cursor: string | null }
  }
  /** POST /orders/{order_id}/refund */
  refundOrder: {
    params: { order_id: string }
    query: {}
    body: {
      amount_rub?: number | undefined
      again?: boolean | undefined
      end?: 'unused' | 'whole' | undefined
      note?: string | undefined
    }
    answer: {
      customer: string
      order_id: string
      amount_rub: number
      balance_rub: number
      transaction?: number | undefined
      proxies?: readonly number[] | undefined
      returned_gb?: number | undefined
      uuid?: string | undefined
      replayed?: boolean | undefined
    }
  }
  /** POST /orders/{order_id}/refund-traffic */
  refundTraffic: {
    params: { order_id: string }
    query: {}
    body: { note?: string | undefined }
    answer: { order_id: string; returned_gb: number; refunded_rub: number; balance_rub: number }
  }
  /** GET /customers/{customer_id}/orders */
  listCustomerOrders: {
    params: { customer_id: string }
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: { items: readonly AnyOrder[]; next_cursor: string | null }
  }
  /** GET /customers/{customer_id}/events */
  listCustomerEvents: {
    params: { customer_id: string }
    query: { limit?: number | undefined; cursor?: string | undefined; type?: string | undefined }
    body: {}
    answer: { items: readonly AnyEvent[]; next_cursor: string | null }
  }
  /** GET /orders/{order_id} */
  getOrderStory: {
    params: { order_id: string }
    query: {}
    body: {}
    answer: {
      order: AnyOrder
      transactions: readonly Movement[]
      delivered: readonly Readonly<Record<string, unknown>>[]
      events: readonly AnyEvent[]
    }
  }
  /** GET /payments */
  listAllPayments: {
    params: {}
    query: {
      limit?: number | undefined
      cursor?: string | undefined
      customer_id?: string | undefined
      state?: 'new' | 'pending' | 'paid' | 'expired' | 'cancelled' | 'refunded' | undefined
    }
    body: {}
    answer: { items: readonly AnyPayment[]; next_cursor: string | null }
  }
  /** GET /payments/{payment_id} */
  getPaymentSteps: {
    params: { payment_id: string }
    query: {}
    body: {}
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
  /** GET /payment-methods */
  listWaysToPay: {
    params: {}
    query: {}
    body: {}
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
  /** POST /payments/{payment_id}/mark-paid */
  markPaid: {
    params: { payment_id: string }
    query: {}
    body: { note?: string | undefined }
    answer: {
      payment_id: string
      customer: string
      status: string
      amount_rub: number
      refunded_rub: number
      replayed?: boolean | undefined
    }
  }
  /** POST /payments/{payment_id}/refund */
  refundPayment: {
    params: { payment_id: string }
    query: {}
    body: { amount_rub?: number | undefined; into_debt?: boolean | undefined; note?: string | undefined }
    answer: {
      payment_id: string
      customer: string
      status: string
      amount_rub: number
      refunded_rub: number
      replayed?: boolean | undefined
    }
  }
  /** GET /payment-notices */
  listUnmatched: {
    params: {}
    query: { limit?: number | undefined; all?: 'true' | 'false' | undefined }
    body: {}
    answer: { items: readonly PaymentNotice[] }
  }
  /** POST /payment-notices/{notice_id}/resolve */
  resolveUnmatched: {
    params: { notice_id: string }
    query: {}
    body: { credit_to?: string | undefined; note?: string | undefined }
    answer: { notice_id: string; resolved: boolean; credited_rub: number | null }
  }
  /** POST /payment-reconciliation */
  startReconcile: {
    params: {}
    query: {}
    body: { from: string; to: string; provider?: string | undefined }
    answer: Reconciliation
  }
  /** GET /payment-reconciliation */
  getReconcile: { params: {}; query: {}; body: {}; answer: Reconciliation }
  /** GET /payment-providers */
  listProviders: { params: {}; query: {}; body: {}; answer: { items: readonly PaymentProvider[] } }
  /** POST /payment-providers/{name} */
  setProvider: {
    params: { name: string }
    query: {}
    body: {
      settings?: Readonly<Record<string, string>> | undefined
      secret?: string | undefined
      methods?: readonly string[] | undefined
      min_rub?: Readonly<Record<string, number>> | undefined
      max_rub?: Readonly<Record<string, number>> | undefined
      fee_percent?: Readonly<Record<string, number>> | undefined
    }
    answer: PaymentProvider
  }
  /** POST /payment-providers/{name}/enable */
  enableProvider: {
    params: { name: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: PaymentProvider
  }
  /** POST /payment-providers/{name}/disable */
  disableProvider: {
    params: { name: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: PaymentProvider
  }
  /** GET /codes */
  listCodes: { params: {}; query: { limit?: number | undefined }; body: {}; answer: { items: readonly Code[] } }
  /** POST /codes */
  addCode: {
    params: {}
    query: {}
    body: {
      name: string
      amount_rub?: number | undefined
      percent?: number | undefined
      least_rub?: number | undefined
      uses?: number | undefined
      until?: string | undefined
      note?: string | undefined
    }
    answer: { name: string }
  }
  /** POST /codes/{name}/end */
  endCode: {
    params: { name: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { name: string; ended: boolean }
  }
  /** GET /referrals */
  listReferrals: {
    params: {}
    query: { limit?: number | undefined }
    body: {}
    answer: {
      terms: { percent: number; top_ups: number } | null
      items: readonly { customer_id: string; referrer_id: string; at: string }[]
    }
  }
  /** POST /referrals */
  addReferral: {
    params: {}
    query: {}
    body: { customer_id: string; referrer_id: string }
    answer: { customer_id: string; referrer_id: string }
  }
  /** POST /referrals/terms */
  setReferralTerms: {
    params: {}
    query: {}
    body: { percent: number; top_ups?: number | undefined }
    answer: { percent: number; top_ups: number }
  }
  /** GET /reports/days */
  reportDays: {
    params: {}
    query: { from?: string | undefined; to?: string | undefined }
    body: {}
    answer: {
      items: readonly {
        day: string
        turnover_rub: number
        refunded_rub: number
        topped_up_rub: number
        taken_back_rub: number
        held_rub: number
      }[]
    }
  }
  /** GET /reports/products */
  reportProducts: {
    params: {}
    query: { from?: string | undefined; to?: string | undefined }
    body: {}
    answer: { items: readonly { day: string; product: string; kind: string; count: number; amount_rub: number }[] }
  }
  /** GET /reports/methods */
  reportMethods: {
    params: {}
    query: { from?: string | undefined; to?: string | undefined }
    body: {}
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
  /** GET /proxies/interrupted */
  listInterrupted: {
    params: {}
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: {
      items: readonly {
        proxy: number
        customer_id: string
        address: string
        node: string | null
        since: string
        reason: string | null
      }[]
      next_cursor: string | null
    }
  }
  /** GET /proxies/{proxy} */
  showProxy: {
    params: { proxy: string }
    query: {}
    body: {}
    answer: {
      proxy: number
      customer_id: string
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
  /** POST /proxies/{proxy}/end */
  endProxy: {
    params: { proxy: string }
    query: {}
    body: { refund?: boolean | undefined; note?: string | undefined }
    answer: { customer: string; proxy: number; amount_rub: number; balance_rub: number; replayed?: boolean | undefined }
  }
  /** POST /proxies/{proxy}/replace */
  replaceProxy: {
    params: { proxy: string }
    query: {}
    body: { note?: string | undefined }
    answer: { customer: string; proxy: number; from: string; to: string; at: string; replayed?: boolean | undefined }
  }
  /** GET /vpn/{uuid} */
  showVpn: { params: { uuid: string }; query: {}; body: {}; answer: Subscription }
  /** POST /vpn/{uuid}/move */
  moveVpn: {
    params: { uuid: string }
    query: {}
    body: { node: string }
    answer: { uuid: string; node: string; devices: number }
  }
  /** POST /vpn/{uuid}/disable */
  disableVpn: {
    params: { uuid: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { uuid: string; disabled: boolean }
  }
  /** POST /vpn/{uuid}/enable */
  enableVpn: {
    params: { uuid: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { uuid: string; disabled: boolean }
  }
  /** GET /catalogue */
  getCatalogue: {
    params: {}
    query: { version?: number | undefined }
    body: {}
    answer: { version: number; applied_at: string; catalogue: Readonly<Record<string, unknown>> }
  }
  /** GET /catalogue/versions */
  listCatalogues: {
    params: {}
    query: {}
    body: {}
    answer: { items: readonly { version: number; applied_at: string }[] }
  }
  /** POST /catalogue/diff */
  compareCatalogue: {
    params: {}
    query: {}
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
  /** POST /catalogue/apply */
  applyCatalogue: {
    params: {}
    query: {}
    body: { catalogue: Readonly<Record<string, unknown>> }
    answer: { version: number | null; changes: readonly string[] }
  }
  /** GET /stock */
  listPlaces: {
    params: {}
    query: {
      limit?: number | undefined
      cursor?: string | undefined
      country?: string | undefined
      ipv?: number | undefined
      state?: 'free' | 'leased' | 'resting' | 'retired' | undefined
    }
    body: {}
    answer: { items: readonly Place[]; next_cursor: string | null }
  }
  /** GET /stock/count */
  countPlaces: {
    params: {}
    query: {}
    body: {}
    answer: { items: readonly { country: string; ipv: number; state: string; count: number }[] }
  }
  /** GET /stock/blocks */
  listBlocks: {
    params: {}
    query: {}
    body: {}
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
  /** GET /stock/ranges */
  listRanges: { params: {}; query: {}; body: {}; answer: { items: readonly Range[] } }
  /** GET /stock/survey */
  surveyRange: {
    params: {}
    query: { prefix: string }
    body: {}
    answer: {
      prefix: string
      kinds: readonly Readonly<Record<string, unknown>>[]
      blocks: readonly string[]
      proxies: readonly number[]
      customers: number
      unused_rub: number
    }
  }
  /** GET /addresses/{address}/holders */
  findHolders: {
    params: { address: string }
    query: { from: string; to?: string | undefined; reason: string; host?: string | undefined }
    body: {}
    answer: {
      items: readonly {
        customer_id: string
        proxy: number
        order_id: string
        username: string
        from: string
        until: string | null
      }[]
      devices: readonly { customer_id: string; device_id: string; uuid: string; from: string; until: string | null }[]
      is_exit: boolean
      candidates: readonly {
        customer_id: string
        subuser_id: string
        login: string
        pool: string
        hour: string
        rx_bytes: number
        tx_bytes: number
      }[]
    }
  }
  /** POST /stock/add */
  addStock: {
    params: {}
    query: {}
    body: {
      prefix?: string | undefined
      addresses?: readonly string[] | undefined
      country: string
      ipv: 3 | 4 | 6
      nodes?: readonly string[] | undefined
    }
    answer: { added: number }
  }
  /** POST /stock/assign */
  assignRange: {
    params: {}
    query: {}
    body: { prefix: string; nodes: readonly string[] }
    answer: { prefix: string; ranges: number }
  }
  /** POST /stock/move */
  moveRange: {
    params: {}
    query: {}
    body: { prefix: string; nodes: readonly string[]; dry_run?: boolean | undefined }
    answer: { dry_run: boolean; ranges: number; proxies: readonly number[]; customers: number; away: readonly string[] }
  }
  /** POST /stock/retire */
  retireRange: {
    params: {}
    query: {}
    body: {
      prefix: string
      undo?: boolean | undefined
      replace?: boolean | undefined
      refund?: boolean | undefined
      note?: string | undefined
    }
    answer: {
      places: number
      interrupted: number
      restored: number
      replaced: readonly number[]
      ended: readonly number[]
      waiting: readonly number[]
    }
  }
  /** POST /stock/quarantine */
  quarantineRange: {
    params: {}
    query: {}
    body: {
      prefix: string
      undo?: boolean | undefined
      replace?: boolean | undefined
      refund?: boolean | undefined
      note?: string | undefined
    }
    answer: {
      places: number
      interrupted: number
      restored: number
      replaced: readonly number[]
      ended: readonly number[]
      waiting: readonly number[]
    }
  }
  /** POST /stock/addresses/{address}/retire */
  retireAddress: {
    params: { address: string }
    query: {}
    body: { undo?: boolean | undefined }
    answer: { address: string; places: number }
  }
  /** POST /stock/addresses/{address}/quarantine */
  quarantineAddress: {
    params: { address: string }
    query: {}
    body: { days?: number | undefined }
    answer: { address: string; places: number; days: number }
  }
  /** GET /nodes */
  listNodes: { params: {}; query: {}; body: {}; answer: { items: readonly Node[] } }
  /** POST /nodes */
  addNode: {
    params: {}
    query: {}
    body: {
      name: string
      kind?: 'gateway' | 'vpn' | undefined
      location?: string | undefined
      country?: string | undefined
      city?: string | undefined
      endpoint?: { host: string; port: number } | undefined
      link_mbit?: number | undefined
    }
    answer: JoinKey
  }
  /** GET /nodes/{name} */
  showNode: {
    params: { name: string }
    query: {}
    body: {}
    answer: {
      node: Node
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
  /** POST /nodes/{name}/link */
  linkNode: { params: { name: string }; query: {}; body: { link_mbit: number }; answer: Node }
  /** POST /nodes/{name}/revoke */
  revokeNode: { params: { name: string }; query: {}; body: Readonly<Record<string, unknown>>; answer: Node }
  /** POST /nodes/{name}/close */
  closeNode: { params: { name: string }; query: {}; body: Readonly<Record<string, unknown>>; answer: Node }
  /** POST /nodes/{name}/open */
  openNode: { params: { name: string }; query: {}; body: Readonly<Record<string, unknown>>; answer: Node }
  /** POST /nodes/{name}/drain */
  drainNode: { params: { name: string }; query: {}; body: { undo?: boolean | undefined }; answer: Node }
  /** POST /nodes/{name}/forget-usage */
  forgetUsage: {
    params: { name: string }
    query: {}
    body: { since?: string | undefined; dry_run?: boolean | undefined }
    answer: { name: string; dry_run: boolean; things: number; bytes: number }
  }
  /** POST /nodes/{name}/key */
  keyNode: { params: { name: string }; query: {}; body: Readonly<Record<string, unknown>>; answer: JoinKey }
  /** GET /pools */
  listPools: {
    params: {}
    query: {}
    body: {}
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
  /** GET /exits */
  listExits: {
    params: {}
    query: { limit?: number | undefined; cursor?: string | undefined; pool?: string | undefined }
    body: {}
    answer: { items: readonly Exit[]; next_cursor: string | null }
  }
  /** POST /exits */
  addExit: {
    params: {}
    query: {}
    body: {
      pool: string
      local?: string | undefined
      upstream?: string | undefined
      username?: string | undefined
      password?: string | undefined
      node?: string | undefined
      countries?: string | undefined
      country?: string | undefined
      state?: string | undefined
      city?: string | undefined
      zip?: string | undefined
      asn?: number | undefined
    }
    answer: { exit_id: string; pool: string; host: string }
  }
  /** POST /exits/{exit_id}/drain */
  drainExit: {
    params: { exit_id: string }
    query: {}
    body: { undo?: boolean | undefined }
    answer: { exit_id: string; drained: boolean }
  }
  /** POST /exits/{exit_id}/compare */
  compareExit: {
    params: { exit_id: string }
    query: {}
    body: {
      from: string
      to: string
      supplied_bytes?: number | undefined
      days?: readonly { day: string; bytes: number }[] | undefined
    }
    answer: {
      carried_bytes: number
      supplied_bytes: number
      difference_bytes: number
      difference_percent: number | null
      days: readonly { day: string; carried_bytes: number; supplied_bytes: number | null }[]
    }
  }
  /** GET /usage/quarantine */
  listQuarantined: {
    params: {}
    query: {}
    body: {}
    answer: { items: readonly { node: string; boot: string; subject: string; bytes: number; at: string }[] }
  }
  /** GET /operators */
  listOperators: { params: {}; query: {}; body: {}; answer: { items: readonly Operator[] } }
  /** POST /operators */
  addOperator: {
    params: {}
    query: {}
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
  /** POST /operators/{operator}/link */
  linkOperator: {
    params: { operator: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: {
      operator_id: string
      name: string
      role: 'owner' | 'support' | 'reader'
      created_at: string
      link: string
      expires_at: string
    }
  }
  /** POST /operators/{operator}/role */
  setOperatorRole: {
    params: { operator: string }
    query: {}
    body: { role: 'owner' | 'support' | 'reader' }
    answer: Operator
  }
  /** POST /operators/{operator}/remove */
  removeOperator: {
    params: { operator: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { name: string; removed: boolean }
  }
  /** GET /operators/{operator}/tokens */
  listOperatorTokens: { params: { operator: string }; query: {}; body: {}; answer: { items: readonly OperatorToken[] } }
  /** POST /operators/{operator}/tokens */
  createOperatorToken: {
    params: { operator: string }
    query: {}
    body: { name?: string | undefined; expires_at?: string | undefined }
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
  /** POST /operators/tokens/{token_id}/revoke */
  revokeOperatorToken: {
    params: { token_id: string }
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { token_id: string; revoked: boolean }
  }
  /** GET /audit */
  listAuditLog: {
    params: {}
    query: {
      limit?: number | undefined
      cursor?: string | undefined
      operator_id?: string | undefined
      action?: string | undefined
    }
    body: {}
    answer: { items: readonly AuditEntry[]; next_cursor: string | null }
  }
  /** POST /verify */
  startVerify: {
    params: {}
    query: {}
    body: { against?: readonly { number?: number | undefined; hash: string }[] | undefined }
    answer: Verification
  }
  /** GET /verify */
  getVerify: { params: {}; query: {}; body: {}; answer: Verification }
  /** POST /checkpoint */
  makeCheckpoint: {
    params: {}
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: { checkpoint: { number: number; accounts: number; postings: number; hash: string } | null }
  }
}

export const operations = {
  getOverview: ['GET', '/overview', 'reader'],
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
  endProxy: ['POST', '/proxies/{proxy}/end', 'keyed', 'support'],
  replaceProxy: ['POST', '/proxies/{proxy}/replace', 'keyed', 'support'],
  showVpn: ['GET', '/vpn/{uuid}', 'reader'],
  moveVpn: ['POST', '/vpn/{uuid}/move', 'support'],
  disableVpn: ['POST', '/vpn/{uuid}/disable', 'support'],
  enableVpn: ['POST', '/vpn/{uuid}/enable', 'support'],
  getCatalogue: ['GET', '/catalogue', 'reader'],
  listCatalogues: ['GET', '/catalogue/versions', 'reader'],
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
  revokeNode: ['POST', '/nodes/{name}/revoke', 'owner'],
  closeNode: ['POST', '/nodes/{name}/close', 'owner'],
  openNode: ['POST', '/nodes/{name}/open', 'owner'],
  drainNode: ['POST', '/nodes/{name}/drain', 'owner'],
  forgetUsage: ['POST', '/nodes/{name}/forget-usage', 'owner'],
  keyNode: ['POST', '/nodes/{name}/key', 'owner'],
  listPools: ['GET', '/pools', 'reader'],
  listExits: ['GET', '/exits', 'reader'],
  addExit: ['POST', '/exits', 'owner'],
  drainExit: ['POST', '/exits/{exit_id}/drain', 'owner'],
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
