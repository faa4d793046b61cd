/** Made by `npm run client` from the description of /api/v1: never edited by hand. */

export type Transaction = {
  id: number
  kind: 'credit' | 'charge' | 'refund' | 'debit'
  amount_rub: number
  balance_after_rub: number
  order_id: string | null
  refund_of: number | null
  payment_id: string | null
  note: string
  created_at: string
}

export type PaymentMethod = {
  method: string
  name: string
  min_rub: number
  max_rub: number
  fee_percent: number
  email: boolean
}

export type Payment = {
  payment_id: string
  status: 'pending' | 'paid' | 'expired' | 'cancelled' | 'refunded'
  method: string
  amount_rub: number
  fee_rub: number
  to_pay_rub: number
  refunded_rub: number
  bonus_rub: number
  then: {
    product: string
    price_rub: number
    state: 'waiting' | 'bought' | 'refused' | 'lapsed'
    order_id: string | null
    problem: string | null
  } | null
  pay_url: string | null
  qr: string | null
  expires_at: string
  created_at: string
}

export type Referral = {
  terms: { percent: number; top_ups: number } | null
  code: string | null
  link: string | null
  brought: number
  earned_rub: number
}

export type Proxy = {
  id: number
  ip: string
  port: number
  port_type: 'http' | 'socks' | 'both'
  username: string
  password: string | null
  exit_ip: string
  country_code: string
  ipv: number
  date_end: string
  expires_at: string
  status: 'active' | 'expired'
  state: 'serving' | 'interrupted'
  comment: string
  whitelist: readonly string[]
  whitelist_port: number | null
  traffic: { rx_bytes: number; tx_bytes: number }
  auto_renew: number | null
}

export type SubuserRef = { subuser_id: string; login: string; name: string; is_default: boolean }

export type Subuser = {
  subuser_id: string
  login: string
  name: string
  is_default: boolean
  status: 'active' | 'blocked'
  day_limit_bytes: number | null
  month_limit_bytes: number | null
  total_limit_bytes: number | null
  tunnel_limit: number | null
  keep_hosts: boolean
  created_at: string
}

export type WhitelistEntry = { ip: string; comment: string; created_at: string; last_used_at: string | null }

export type VpnDevice = {
  id: string
  name: string
  public_key: string
  own_key: boolean
  ipv4: string
  ipv6: string
  location: string | null
  rx_bytes: number
  tx_bytes: number
  last_handshake_at: string | null
  created_at: string
}

export type VpnSubscription = {
  uuid: string
  status: 'ACTIVE' | 'EXPIRED' | 'DISABLED' | 'LIMITED'
  limited_by: readonly ('traffic' | 'devices')[]
  expires_at: string
  subscription_url: string | null
  device_limit: number
  devices: readonly VpnDevice[]
  traffic: { rx_bytes: number; tx_bytes: number; limit_bytes: number | null }
  speed_mbit: number | null
  auto_renew: { enabled: boolean; period: number | null; next_at: string | null; problem: string | null }
  node: 'online' | 'offline'
  created_at: string
}

export type Order = {
  order_id: string
  product: string
  action: string
  price_rub: number
  request: Readonly<Record<string, unknown>>
  calculation: Readonly<Record<string, unknown>>
  created_at: string
}

export type Event = {
  id: number
  type:
    | 'proxy.replaced'
    | 'proxy.interrupted'
    | 'proxy.restored'
    | 'proxy.moved'
    | 'proxy.extended'
    | 'proxy.ended'
    | 'order.refunded'
    | 'payment.paid'
    | 'payment.expired'
    | 'payment.refunded'
  timestamp: string
  order_id: string | null
  data: Readonly<Record<string, unknown>>
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

export type NewToken = {
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
  token: string
}

export type Operations = {
  /** GET /balance */
  getBalance: { params: {}; query: {}; body: {}; answer: { balance_rub: number; api_spent_rub: number } }
  /** GET /transactions */
  listTransactions: {
    params: {}
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: { transactions: readonly Transaction[]; next_cursor: string | null }
  }
  /** GET /export */
  exportAccount: {
    params: {}
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: { items: readonly { table: string; row: Readonly<Record<string, unknown>> }[]; next_cursor: string | null }
  }
  /** GET /payments/methods */
  listPaymentMethods: { params: {}; query: {}; body: {}; answer: { items: readonly PaymentMethod[] } }
  /** GET /payments/quote */
  quotePayment: {
    params: {}
    query: { amount_rub: number; method: string; code?: string | undefined }
    body: {}
    answer: { amount_rub: number; fee_rub: number; to_pay_rub: number; bonus_rub: number; balance_grows_rub: number }
  }
  /** POST /payments */
  createPayment: {
    params: {}
    query: {}
    body: {
      amount_rub: number
      method: string
      return_url?: string | undefined
      email?: string | undefined
      code?: string | undefined
      then?: Readonly<Record<string, unknown>> | undefined
    }
    answer: Payment
  }
  /** GET /payments */
  listPayments: {
    params: {}
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: { payments: readonly Payment[]; next_cursor: string | null }
  }
  /** GET /payments/{payment_id} */
  getPayment: { params: { payment_id: string }; query: {}; body: {}; answer: Payment }
  /** GET /referral */
  getReferral: { params: {}; query: {}; body: {}; answer: Referral }
  /** POST /referral */
  makeReferralCode: { params: {}; query: {}; body: Readonly<Record<string, unknown>>; answer: Referral }
  /** GET /dedicated/quote */
  quoteDedicated: {
    params: {}
    query: { country_code: string; period: number; count: number; ipv: 3 | 4 | 6 }
    body: {}
    answer: {
      country_code: string
      period: number
      count: number
      ipv: number
      price_rub: number
      price_per_proxy_rub: number
      discount_percent: number
      available: number
    }
  }
  /** POST /dedicated/buy */
  buyDedicated: {
    params: {}
    query: {}
    body: { country_code: string; period: number; count: number; ipv: 3 | 4 | 6 }
    answer: {
      order_id: string
      check_id: number | null
      country_code: string
      period: number
      count: number
      ipv: number
      price_rub: number
      balance_rub: number
      proxies: readonly Proxy[]
    }
  }
  /** GET /dedicated/prolong/quote */
  quoteProlonging: {
    params: {}
    query: { ids: string; period: number }
    body: {}
    answer: {
      period: number
      total_price_rub: number
      items: readonly { id: number; ipv: number; price_rub: number; expires_at: string }[]
    }
  }
  /** POST /dedicated/prolong */
  prolongDedicated: {
    params: {}
    query: {}
    body: { ids: readonly number[]; period: number }
    answer: {
      order_id: string
      period: number
      total_price_rub: number
      price_rub: number
      balance_rub: number
      items: readonly { id: number; price_rub: number; date_end: string; expires_at: string }[]
    }
  }
  /** POST /dedicated/protocol */
  setProtocol: {
    params: {}
    query: {}
    body: { ids: readonly number[]; port_type: 'http' | 'socks' | 'socks5' | 'both' }
    answer: { port_type: 'http' | 'socks' | 'both'; updated: readonly number[] }
  }
  /** GET /dedicated/list */
  listDedicated: {
    params: {}
    query: {
      limit?: number | undefined
      cursor?: string | undefined
      status?: 'active' | 'expired' | undefined
      country_code?: string | undefined
      ipv?: 3 | 4 | 6 | undefined
      expires_before?: string | undefined
      comment?: string | undefined
    }
    body: {}
    answer: { proxies: readonly Proxy[]; next_cursor: string | null }
  }
  /** GET /dedicated/country */
  listCountries: {
    params: {}
    query: { ipv: 3 | 4 | 6 }
    body: {}
    answer: {
      ipv: number
      periods: readonly number[]
      prolong_periods: readonly number[]
      countries: readonly { country_code: string; name: string; name_ru: string; available: number }[]
    }
  }
  /** GET /dedicated/count */
  countAvailable: {
    params: {}
    query: { country_code: string; ipv: 3 | 4 | 6 }
    body: {}
    answer: { country_code: string; ipv: number; count: number }
  }
  /** POST /dedicated/comment */
  setComment: {
    params: {}
    query: {}
    body: { ids: readonly number[]; comment: string }
    answer: { comment: string; updated: readonly number[] }
  }
  /** POST /dedicated/auto-renew */
  setAutoRenew: {
    params: {}
    query: {}
    body: { ids: readonly number[]; period: number | null }
    answer: { period: number | null; updated: readonly number[] }
  }
  /** POST /dedicated/check */
  checkProxy: {
    params: {}
    query: {}
    body: { id: number }
    answer: { id: number; works: boolean; took_ms: number | null; problem: string | null }
  }
  /** POST /dedicated/replace */
  replaceProxy: { params: {}; query: {}; body: { id: number }; answer: Proxy }
  /** POST /dedicated/whitelist/add */
  allowSource: {
    params: {}
    query: {}
    body: { ids: readonly number[]; ip: string }
    answer: { ip: string; proxies: readonly Proxy[] }
  }
  /** POST /dedicated/whitelist/remove */
  disallowSource: {
    params: {}
    query: {}
    body: { ids: readonly number[]; ip: string }
    answer: { ip: string; proxies: readonly Proxy[] }
  }
  /** POST /dedicated/password/reset */
  resetPasswords: { params: {}; query: {}; body: { ids: readonly number[] }; answer: { proxies: readonly Proxy[] } }
  /** GET /dedicated/export */
  exportDedicated: {
    params: {}
    query: {
      format?: 'txt' | 'csv' | 'json' | undefined
      format_id?: 1 | 2 | 3 | 4 | undefined
      template?: string | undefined
      ids?: string | undefined
    }
    body: {}
    answer: { proxies: readonly Proxy[]; count: number }
  }
  /** GET /premium/traffic/quote */
  quoteTraffic: {
    params: {}
    query: { pool_type: string; gb: number }
    body: {}
    answer: {
      pool_type: string
      gb: number
      price_per_gb_rub: number
      price_rub: number
      available: boolean
      tier: { from_gb: number; price_per_gb_rub: number }
      next_tier: { from_gb: number; price_per_gb_rub: number; missing_gb: number } | null
    }
  }
  /** POST /premium/traffic/buy */
  buyTraffic: {
    params: {}
    query: {}
    body: { pool_type: string; gb: number; subuser_id?: string | undefined }
    answer: {
      order_id: string
      pool_type: string
      price_rub: number
      balance_rub: number
      traffic_added_gb: number
      traffic_balance_gb: number
      subuser: SubuserRef
    }
  }
  /** GET /premium/traffic/balance */
  getTraffic: {
    params: {}
    query: { pool_type?: string | undefined; subuser_id?: string | undefined }
    body: {}
    answer:
      | {
          pool_type: string
          traffic_gb: number
          purchased_gb: number
          used_gb: number
          updated_at: string | null
          subuser: SubuserRef
        }
      | {
          pools: readonly {
            pool_type: string
            traffic_gb: number
            purchased_gb: number
            used_gb: number
            updated_at: string | null
          }[]
          subuser: SubuserRef
        }
  }
  /** POST /premium/subusers */
  createSubuser: {
    params: {}
    query: {}
    body: {
      name?: string | undefined
      login?: string | undefined
      keep_hosts?: boolean | undefined
      day_limit_bytes?: number | null | undefined
      month_limit_bytes?: number | null | undefined
      total_limit_bytes?: number | null | undefined
      tunnel_limit?: number | null | undefined
    }
    answer: { subuser: Subuser; password: string }
  }
  /** GET /premium/subusers */
  listSubusers: {
    params: {}
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: { subusers: readonly Subuser[]; next_cursor: string | null }
  }
  /** POST /premium/subusers/update */
  updateSubuser: {
    params: {}
    query: {}
    body: {
      subuser_id?: string | undefined
      name?: string | undefined
      blocked?: boolean | undefined
      keep_hosts?: boolean | undefined
      day_limit_bytes?: number | null | undefined
      month_limit_bytes?: number | null | undefined
      total_limit_bytes?: number | null | undefined
      tunnel_limit?: number | null | undefined
    }
    answer: { subuser: Subuser }
  }
  /** POST /premium/traffic/move */
  moveTraffic: {
    params: {}
    query: {}
    body: {
      pool_type: string
      gb?: number | undefined
      all?: boolean | undefined
      from_subuser_id?: string | undefined
      to_subuser_id?: string | undefined
    }
    answer: {
      order_id: string
      pool_type: string
      moved_gb: number
      from: { subuser: SubuserRef; traffic_balance_gb: number }
      to: { subuser: SubuserRef; traffic_balance_gb: number }
    }
  }
  /** POST /premium/proxies/generate */
  generateProxies: {
    params: {}
    query: {}
    body: {
      pool_type: string
      country_code?: string | undefined
      countries?: readonly string[] | undefined
      states?: readonly string[] | undefined
      cities?: readonly string[] | undefined
      zipcodes?: readonly string[] | undefined
      asns?: readonly number[] | undefined
      type?: 'sticky' | 'rotating' | undefined
      protocol?: 'http' | 'socks5' | undefined
      session_ttl?: number | undefined
      quantity?: number | undefined
      format_id?: 1 | 2 | 3 | 4 | undefined
      format?: string | number | undefined
      subuser_id?: string | undefined
    }
    answer: {
      subuser: SubuserRef
      params: {
        pool_type: string
        countries: readonly string[]
        states: readonly string[]
        cities: readonly string[]
        zipcodes: readonly string[]
        asns: readonly number[]
        type: 'sticky' | 'rotating'
        protocol: 'http' | 'socks5'
        session_ttl: number | null
        quantity: number
        format_id: number | null
        format: string
      }
      domain: string
      ip: string
      proxies: readonly string[]
    }
  }
  /** GET /premium/whitelist */
  getWhitelist: {
    params: {}
    query: { subuser_id?: string | undefined }
    body: {}
    answer: { ips: readonly WhitelistEntry[]; limit: number; subuser: SubuserRef }
  }
  /** POST /premium/whitelist/add */
  addToWhitelist: {
    params: {}
    query: {}
    body: { ip: string; comment?: string | undefined; subuser_id?: string | undefined }
    answer: { ip: string; added: boolean; ips: readonly WhitelistEntry[]; limit: number; subuser: SubuserRef }
  }
  /** POST /premium/whitelist/remove */
  removeFromWhitelist: {
    params: {}
    query: {}
    body: { ip: string; subuser_id?: string | undefined }
    answer: { ip: string; removed: boolean; ips: readonly WhitelistEntry[]; limit: number; subuser: SubuserRef }
  }
  /** GET /premium/password */
  getPassword: {
    params: {}
    query: { subuser_id?: string | undefined }
    body: {}
    answer: { login: string; password: string; subuser: SubuserRef }
  }
  /** POST /premium/password/reset */
  resetPassword: {
    params: {}
    query: {}
    body: { subuser_id?: string | undefined }
    answer: { login: string; password: string; subuser: SubuserRef }
  }
  /** POST /premium/locations/countries */
  listPremiumCountries: {
    params: {}
    query: {}
    body: { pool_type: string }
    answer: { pool_type: string; countries: readonly { country_code: string; exits: number }[] }
  }
  /** POST /premium/locations/states */
  listPremiumStates: {
    params: {}
    query: {}
    body: { pool_type: string; country_code?: string | undefined; countries?: readonly string[] | undefined }
    answer: {
      pool_type: string
      states: readonly { country_code: string; state: string; name: string; exits: number }[]
    }
  }
  /** POST /premium/locations/cities */
  listPremiumCities: {
    params: {}
    query: {}
    body: {
      pool_type: string
      country_code?: string | undefined
      countries?: readonly string[] | undefined
      states?: readonly string[] | undefined
    }
    answer: {
      pool_type: string
      cities: readonly { country_code: string; city: string; name: string; exits: number }[]
    }
  }
  /** POST /premium/locations/zipcodes */
  listPremiumZipcodes: {
    params: {}
    query: {}
    body: {
      pool_type: string
      country_code?: string | undefined
      countries?: readonly string[] | undefined
      states?: readonly string[] | undefined
      cities?: readonly string[] | undefined
    }
    answer: {
      pool_type: string
      zipcodes: readonly { country_code: string; zipcode: string; name: string; exits: number }[]
    }
  }
  /** POST /premium/locations/asns */
  listPremiumAsns: {
    params: {}
    query: {}
    body: {
      pool_type: string
      country_code?: string | undefined
      countries?: readonly string[] | undefined
      states?: readonly string[] | undefined
      cities?: readonly string[] | undefined
      zipcodes?: readonly string[] | undefined
    }
    answer: { pool_type: string; asns: readonly { country_code: string; asn: number; name: string; exits: number }[] }
  }
  /** GET /premium/usage */
  getPremiumUsage: {
    params: {}
    query: {
      by?: 'hour' | 'day' | 'pool' | 'subuser' | 'host' | undefined
      from?: string | undefined
      to?: string | undefined
      pool_type?: string | undefined
      subuser_id?: string | undefined
      host?: string | undefined
    }
    body: {}
    answer: {
      by: 'hour' | 'day' | 'pool' | 'subuser' | 'host'
      from: string
      to: string
      subuser: SubuserRef | null
      total_gb: number
      items: readonly { key: string; received_bytes: number; sent_bytes: number; gb: number }[]
    }
  }
  /** POST /premium/subusers/delete */
  deleteSubuser: {
    params: {}
    query: {}
    body: { subuser_id: string; to_subuser_id?: string | undefined }
    answer: {
      order_id: string
      deleted: SubuserRef
      to: SubuserRef
      returned: readonly { pool_type: string; gb: number }[]
    }
  }
  /** GET /vpn/quote */
  quoteVpn: {
    params: {}
    query: { period?: number | undefined; period_months?: number | undefined }
    body: {}
    answer:
      | { period: number; price_rub: number; price_per_month_rub: number; available: boolean }
      | { prices: readonly { period: number; price_rub: number; price_per_month_rub: number }[]; available: boolean }
  }
  /** GET /vpn/locations */
  listVpnLocations: {
    params: {}
    query: {}
    body: {}
    answer: {
      locations: readonly {
        location: string
        country_code: string | null
        city: string | null
        node: 'online' | 'offline'
      }[]
    }
  }
  /** POST /vpn/buy */
  buyVpn: {
    params: {}
    query: {}
    body: {
      period?: number | undefined
      period_months?: number | undefined
      name?: string | undefined
      public_key?: string | undefined
      location?: string | undefined
      auto_renew?: boolean | undefined
    }
    answer: {
      order_id: string
      uuid: string
      period: number
      price_rub: number
      balance_rub: number
      status: 'ACTIVE' | 'EXPIRED' | 'DISABLED' | 'LIMITED'
      expires_at: string
      subscription_url: string
      config: string
      device: string
      node: 'online' | 'offline'
    }
  }
  /** POST /vpn/renew */
  renewVpn: {
    params: {}
    query: {}
    body: { period?: number | undefined; period_months?: number | undefined; uuid?: string | undefined }
    answer: {
      order_id: string
      uuid: string
      period: number
      price_rub: number
      balance_rub: number
      status: 'ACTIVE' | 'EXPIRED' | 'DISABLED' | 'LIMITED'
      expires_at: string
      subscription_url: string
      config: string
      device: string
      node: 'online' | 'offline'
    }
  }
  /** GET /vpn/info */
  getVpn: {
    params: {}
    query: { uuid?: string | undefined }
    body: {}
    answer: {
      status: 'ACTIVE' | 'EXPIRED' | 'DISABLED' | 'LIMITED' | 'NONE'
      uuid: string | null
      limited_by: readonly ('traffic' | 'devices')[]
      expires_at: string | null
      subscription_url: string | null
      device_limit: number | null
      devices: readonly VpnDevice[]
      traffic: { rx_bytes: number; tx_bytes: number; limit_bytes: number | null }
      auto_renew: { enabled: boolean; period: number | null; next_at: string | null; problem: string | null } | null
      node: 'online' | 'offline'
      items: readonly VpnSubscription[]
    }
  }
  /** POST /vpn/devices */
  addVpnDevice: {
    params: {}
    query: {}
    body: {
      uuid?: string | undefined
      name?: string | undefined
      public_key?: string | undefined
      location?: string | undefined
    }
    answer: { uuid: string; device: VpnDevice; config: string; device_limit: number; devices_left: number }
  }
  /** GET /vpn/config */
  getVpnConfig: {
    params: {}
    query: {
      uuid?: string | undefined
      device?: string | undefined
      location?: string | undefined
      format?: 'conf' | 'qr' | 'svg' | 'png' | undefined
    }
    body: {}
    answer: {
      uuid: string
      device: string
      location: string
      format: 'conf' | 'qr' | 'svg' | 'png'
      media_type: string
      encoding: 'utf-8' | 'base64'
      config: string
    }
  }
  /** POST /vpn/link/reset */
  resetVpnLink: {
    params: {}
    query: {}
    body: { uuid?: string | undefined }
    answer: { uuid: string; subscription_url: string }
  }
  /** POST /vpn/auto-renew */
  setVpnAutoRenew: {
    params: {}
    query: {}
    body: {
      uuid?: string | undefined
      enabled: boolean
      period?: number | undefined
      period_months?: number | undefined
    }
    answer: VpnSubscription
  }
  /** POST /vpn/devices/remove */
  removeVpnDevice: {
    params: {}
    query: {}
    body: { uuid?: string | undefined; device: string }
    answer: { uuid: string; removed: string; devices: readonly VpnDevice[] }
  }
  /** POST /vpn/delete */
  deleteVpn: {
    params: {}
    query: {}
    body: { uuid?: string | undefined }
    answer: { uuid: string; deleted: true; refunded_rub: number; balance_rub: number }
  }
  /** GET /orders */
  listOrders: {
    params: {}
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: {}
    answer: { orders: readonly Order[]; next_cursor: string | null }
  }
  /** GET /orders/{order_id} */
  getOrder: { params: { order_id: string }; query: {}; body: {}; answer: Order }
  /** GET /events */
  listEvents: {
    params: {}
    query: {
      limit?: number | undefined
      cursor?: string | undefined
      after?: number | undefined
      type?:
        | 'proxy.replaced'
        | 'proxy.interrupted'
        | 'proxy.restored'
        | 'proxy.moved'
        | 'proxy.extended'
        | 'proxy.ended'
        | 'order.refunded'
        | 'payment.paid'
        | 'payment.expired'
        | 'payment.refunded'
        | undefined
    }
    body: {}
    answer: { events: readonly Event[]; next_cursor: string | null }
  }
  /** GET /tokens */
  listTokens: { params: {}; query: {}; body: {}; answer: { tokens: readonly Token[] } }
  /** POST /tokens/create */
  createToken: {
    params: {}
    query: {}
    body: {
      name?: string | undefined
      scopes?: readonly ('read' | 'trade' | 'pay' | 'passwords')[] | undefined
      cap_rub?: number | null | undefined
      from?: readonly string[] | undefined
      expires_at?: string | null | undefined
    }
    answer: NewToken
  }
  /** POST /tokens/revoke */
  revokeToken: { params: {}; query: {}; body: { token_id: string }; answer: { token_id: string; revoked: boolean } }
}

export const operations = {
  getBalance: ['GET', '/balance'],
  listTransactions: ['GET', '/transactions'],
  exportAccount: ['GET', '/export'],
  listPaymentMethods: ['GET', '/payments/methods'],
  quotePayment: ['GET', '/payments/quote'],
  createPayment: ['POST', '/payments', 'keyed'],
  listPayments: ['GET', '/payments'],
  getPayment: ['GET', '/payments/{payment_id}'],
  getReferral: ['GET', '/referral'],
  makeReferralCode: ['POST', '/referral'],
  quoteDedicated: ['GET', '/dedicated/quote'],
  buyDedicated: ['POST', '/dedicated/buy', 'keyed'],
  quoteProlonging: ['GET', '/dedicated/prolong/quote'],
  prolongDedicated: ['POST', '/dedicated/prolong', 'keyed'],
  setProtocol: ['POST', '/dedicated/protocol'],
  listDedicated: ['GET', '/dedicated/list'],
  listCountries: ['GET', '/dedicated/country'],
  countAvailable: ['GET', '/dedicated/count'],
  setComment: ['POST', '/dedicated/comment'],
  setAutoRenew: ['POST', '/dedicated/auto-renew'],
  checkProxy: ['POST', '/dedicated/check'],
  replaceProxy: ['POST', '/dedicated/replace'],
  allowSource: ['POST', '/dedicated/whitelist/add'],
  disallowSource: ['POST', '/dedicated/whitelist/remove'],
  resetPasswords: ['POST', '/dedicated/password/reset'],
  exportDedicated: ['GET', '/dedicated/export'],
  quoteTraffic: ['GET', '/premium/traffic/quote'],
  buyTraffic: ['POST', '/premium/traffic/buy', 'keyed'],
  getTraffic: ['GET', '/premium/traffic/balance'],
  createSubuser: ['POST', '/premium/subusers'],
  listSubusers: ['GET', '/premium/subusers'],
  updateSubuser: ['POST', '/premium/subusers/update'],
  moveTraffic: ['POST', '/premium/traffic/move', 'keyed'],
  generateProxies: ['POST', '/premium/proxies/generate'],
  getWhitelist: ['GET', '/premium/whitelist'],
  addToWhitelist: ['POST', '/premium/whitelist/add'],
  removeFromWhitelist: ['POST', '/premium/whitelist/remove'],
  getPassword: ['GET', '/premium/password'],
  resetPassword: ['POST', '/premium/password/reset'],
  listPremiumCountries: ['POST', '/premium/locations/countries'],
  listPremiumStates: ['POST', '/premium/locations/states'],
  listPremiumCities: ['POST', '/premium/locations/cities'],
  listPremiumZipcodes: ['POST', '/premium/locations/zipcodes'],
  listPremiumAsns: ['POST', '/premium/locations/asns'],
  getPremiumUsage: ['GET', '/premium/usage'],
  deleteSubuser: ['POST', '/premium/subusers/delete', 'keyed'],
  quoteVpn: ['GET', '/vpn/quote'],
  listVpnLocations: ['GET', '/vpn/locations'],
  buyVpn: ['POST', '/vpn/buy', 'keyed'],
  renewVpn: ['POST', '/vpn/renew', 'keyed'],
  getVpn: ['GET', '/vpn/info'],
  addVpnDevice: ['POST', '/vpn/devices'],
  getVpnConfig: ['GET', '/vpn/config'],
  resetVpnLink: ['POST', '/vpn/link/reset'],
  setVpnAutoRenew: ['POST', '/vpn/auto-renew'],
  removeVpnDevice: ['POST', '/vpn/devices/remove'],
  deleteVpn: ['POST', '/vpn/delete'],
  listOrders: ['GET', '/orders'],
  getOrder: ['GET', '/orders/{order_id}'],
  listEvents: ['GET', '/events'],
  listTokens: ['GET', '/tokens'],
  createToken: ['POST', '/tokens/create'],
  revokeToken: ['POST', '/tokens/revoke'],
} as const
