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
  purchase: {
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
  https_host: string | null
  https_port: number | null
  browser_host: string | null
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
  name: string | null
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
export type OrderDetails = {
  order_id: string
  product: string
  action: string
  price_rub: number
  request: Readonly<Record<string, unknown>>
  calculation: Readonly<Record<string, unknown>>
  created_at: string
  delivered: readonly Readonly<Record<string, unknown>>[]
  delivered_count: number
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
    | 'password.set'
    | 'password.changed'
    | 'email.set'
    | 'second_factor.set'
    | 'second_factor.removed'
    | 'recovery_codes.made'
    | 'recovery_code.used'
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
  getBalance: { answer: { balance_rub: number; api_spent_rub: number } }
  listTransactions: {
    query: { limit?: number; cursor?: string }
    answer: { transactions: readonly Transaction[]; next_cursor: string | null }
  }
  exportAccount: {
    query: { limit?: number; cursor?: string }
    answer: { items: readonly { table: string; row: Readonly<Record<string, unknown>> }[]; next_cursor: string | null }
  }
  listPaymentMethods: { answer: { items: readonly PaymentMethod[] } }
  quotePayment: {
    query: { amount_rub: number; method: string; code?: string }
    answer: { amount_rub: number; fee_rub: number; to_pay_rub: number; bonus_rub: number; balance_grows_rub: number }
  }
  createPayment: {
    body: {
      amount_rub: number
      method: string
      return_url?: string
      email?: string
      code?: string
      purchase?: Readonly<Record<string, unknown>>
    }
    answer: Payment
  }
  listPayments: {
    query: { limit?: number; cursor?: string }
    answer: { payments: readonly Payment[]; next_cursor: string | null }
  }
  getPayment: { params: { payment_id: string }; answer: Payment }
  getReferral: { answer: Referral }
  makeReferralCode: { answer: Referral }
  quoteDedicated: {
    query: { country_code: string; period: number; count: number; ipv: 3 | 4 | 6 }
    answer: {
      country_code: string
      period: number
      count: number
      ipv: number
      price_rub: number
      full_price_rub: number
      price_per_proxy_rub: number
      discount_percent: number
      available: number
      valid_until: null
    }
  }
  buyDedicated: {
    body: {
      country_code: string
      period: number
      count: number
      ipv: 3 | 4 | 6
      port_type?: 'http' | 'socks' | 'socks5' | 'both'
      max_price_rub?: number
    }
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
  quoteProlonging: {
    query: { ids: string; period: number }
    answer: {
      period: number
      total_price_rub: number
      items: readonly { id: number; ipv: number; price_rub: number; expires_at: string }[]
      valid_until: null
    }
  }
  quoteProlongingOfMany: {
    body: { ids: readonly number[]; period: number }
    answer: Operations['quoteProlonging']['answer']
  }
  prolongDedicated: {
    body: { ids: readonly number[]; period: number; max_price_rub?: number }
    answer: {
      order_id: string
      period: number
      total_price_rub: number
      price_rub: number
      balance_rub: number
      items: readonly { id: number; price_rub: number; date_end: string; expires_at: string }[]
    }
  }
  setProtocol: {
    body: { ids: readonly number[]; port_type: 'http' | 'socks' | 'socks5' | 'both' }
    answer: { port_type: 'http' | 'socks' | 'both'; updated: readonly number[] }
  }
  listDedicated: {
    query: {
      limit?: number
      cursor?: string
      status?: 'active' | 'expired'
      country_code?: string
      ipv?: 3 | 4 | 6
      expires_before?: string
      comment?: string
      comment_contains?: string
    }
    answer: { proxies: readonly Proxy[]; next_cursor: string | null }
  }
  getProxy: { params: { id: number }; answer: Proxy }
  listCountries: {
    query: { ipv: 3 | 4 | 6 }
    answer: {
      ipv: number
      periods: readonly number[]
      prolong_periods: readonly number[]
      countries: readonly { country_code: string; name: string; name_ru: string; available: number }[]
    }
  }
  countAvailable: {
    query: { country_code: string; ipv: 3 | 4 | 6 }
    answer: { country_code: string; ipv: number; count: number }
  }
  setComment: {
    body: { ids: readonly number[]; comment: string }
    answer: { comment: string; updated: readonly number[] }
  }
  setAutoRenew: {
    body: { ids: readonly number[]; period: number | null }
    answer: { period: number | null; updated: readonly number[] }
  }
  checkProxy: {
    body: { id: number }
    answer: { id: number; works: boolean; took_ms: number | null; problem: string | null }
  }
  replaceProxy: { body: { id: number }; answer: Proxy }
  allowSource: { body: { ids: readonly number[]; ip: string }; answer: { ip: string; proxies: readonly Proxy[] } }
  disallowSource: { body: { ids: readonly number[]; ip: string }; answer: { ip: string; proxies: readonly Proxy[] } }
  resetPasswords: { body: { ids: readonly number[] }; answer: { proxies: readonly Proxy[] } }
  exportDedicated: {
    query: {
      format?: 'txt' | 'csv' | 'json'
      format_id?: 1 | 2 | 3 | 4
      template?: string
      protocol?: 'https'
      ids?: string
    }
    answer: { proxies: readonly Proxy[]; count: number }
  }
  quoteTraffic: {
    query: { pool_type: string; gb: number }
    answer: {
      pool_type: string
      gb: number
      price_per_gb_rub: number
      price_rub: number
      available: boolean
      tier: { from_gb: number; price_per_gb_rub: number }
      next_tier: { from_gb: number; price_per_gb_rub: number; missing_gb: number } | null
      valid_until: null
    }
  }
  buyTraffic: {
    body: { pool_type: string; gb: number; subuser_id?: string; max_price_rub?: number }
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
  getTraffic: {
    query: { pool_type?: string; subuser_id?: string }
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
  createSubuser: {
    body: {
      name?: string
      login?: string
      keep_hosts?: boolean
      day_limit_bytes?: number | null
      month_limit_bytes?: number | null
      total_limit_bytes?: number | null
      tunnel_limit?: number | null
    }
    answer: { subuser: Subuser; password: string }
  }
  listSubusers: {
    query: { limit?: number; cursor?: string }
    answer: { subusers: readonly Subuser[]; next_cursor: string | null }
  }
  updateSubuser: {
    body: {
      subuser_id?: string
      name?: string
      blocked?: boolean
      keep_hosts?: boolean
      day_limit_bytes?: number | null
      month_limit_bytes?: number | null
      total_limit_bytes?: number | null
      tunnel_limit?: number | null
    }
    answer: { subuser: Subuser }
  }
  moveTraffic: {
    body: { pool_type: string; gb?: number; all?: boolean; from_subuser_id?: string; to_subuser_id?: string }
    answer: {
      order_id: string
      pool_type: string
      moved_gb: number
      from: { subuser: SubuserRef; traffic_balance_gb: number }
      to: { subuser: SubuserRef; traffic_balance_gb: number }
    }
  }
  generateProxies: {
    body: {
      pool_type: string
      country_code?: string
      countries?: readonly string[]
      states?: readonly string[]
      cities?: readonly string[]
      zipcodes?: readonly string[]
      asns?: readonly number[]
      type?: 'sticky' | 'rotating'
      protocol?: 'http' | 'socks5' | 'https'
      session_ttl?: number
      quantity?: number
      format_id?: 1 | 2 | 3 | 4
      format?: string | number
      subuser_id?: string
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
        protocol: 'http' | 'socks5' | 'https'
        session_ttl: number | null
        quantity: number
        format_id: number | null
        format: string
      }
      domain: string
      ip: string
      proxies: readonly string[]
      browser_host: string | null
    }
  }
  getWhitelist: {
    query: { subuser_id?: string }
    answer: { ips: readonly WhitelistEntry[]; limit: number; subuser: SubuserRef }
  }
  addToWhitelist: {
    body: { ip: string; comment?: string; subuser_id?: string }
    answer: { ip: string; added: boolean; ips: readonly WhitelistEntry[]; limit: number; subuser: SubuserRef }
  }
  removeFromWhitelist: {
    body: { ip: string; subuser_id?: string }
    answer: { ip: string; removed: boolean; ips: readonly WhitelistEntry[]; limit: number; subuser: SubuserRef }
  }
  getPassword: { query: { subuser_id?: string }; answer: { login: string; password: string; subuser: SubuserRef } }
  resetPassword: { body: { subuser_id?: string }; answer: { login: string; password: string; subuser: SubuserRef } }
  listPremiumCountries: {
    body: { pool_type: string }
    answer: { pool_type: string; countries: readonly { country_code: string; exits: number }[] }
  }
  listPremiumStates: {
    body: { pool_type: string; country_code?: string; countries?: readonly string[] }
    answer: {
      pool_type: string
      states: readonly { country_code: string; state: string; name: string; exits: number }[]
    }
  }
  listPremiumCities: {
    body: { pool_type: string; country_code?: string; countries?: readonly string[]; states?: readonly string[] }
    answer: {
      pool_type: string
      cities: readonly { country_code: string; city: string; name: string; exits: number }[]
    }
  }
  listPremiumZipcodes: {
    body: {
      pool_type: string
      country_code?: string
      countries?: readonly string[]
      states?: readonly string[]
      cities?: readonly string[]
    }
    answer: {
      pool_type: string
      zipcodes: readonly { country_code: string; zipcode: string; name: string; exits: number }[]
    }
  }
  listPremiumAsns: {
    body: {
      pool_type: string
      country_code?: string
      countries?: readonly string[]
      states?: readonly string[]
      cities?: readonly string[]
      zipcodes?: readonly string[]
    }
    answer: { pool_type: string; asns: readonly { country_code: string; asn: number; name: string; exits: number }[] }
  }
  getPremiumUsage: {
    query: {
      by?: 'hour' | 'day' | 'pool' | 'subuser' | 'host'
      from?: string
      to?: string
      pool_type?: string
      subuser_id?: string
      host?: string
    }
    answer: {
      by: 'hour' | 'day' | 'pool' | 'subuser' | 'host'
      from: string
      to: string
      subuser: SubuserRef | null
      total_gb: number
      items: readonly { key: string; received_bytes: number; sent_bytes: number; gb: number }[]
    }
  }
  deleteSubuser: {
    body: { subuser_id: string; to_subuser_id?: string }
    answer: {
      order_id: string
      deleted: SubuserRef
      to: SubuserRef
      returned: readonly { pool_type: string; gb: number }[]
    }
  }
  quoteVpn: {
    query: { period?: number; period_months?: number }
    answer:
      | { period: number; price_rub: number; price_per_month_rub: number; available: boolean; valid_until: null }
      | {
          prices: readonly { period: number; price_rub: number; price_per_month_rub: number }[]
          available: boolean
          valid_until: null
        }
  }
  listVpnLocations: {
    answer: {
      locations: readonly {
        location: string
        country_code: string | null
        city: string | null
        node: 'online' | 'offline'
      }[]
    }
  }
  buyVpn: {
    body: {
      period?: number
      period_months?: number
      name?: string
      public_key?: string
      location?: string
      auto_renew?: boolean
      max_price_rub?: number
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
  renewVpn: {
    body: { period?: number; period_months?: number; uuid?: string; max_price_rub?: number }
    answer: Operations['buyVpn']['answer']
  }
  getVpn: {
    query: { uuid?: string }
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
  addVpnDevice: {
    body: { uuid?: string; name?: string; public_key?: string; location?: string }
    answer: { uuid: string; device: VpnDevice; config: string; device_limit: number; devices_left: number }
  }
  getVpnConfig: {
    query: { uuid?: string; device?: string; location?: string; format?: 'conf' | 'qr' | 'svg' | 'png' }
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
  resetVpnLink: { body: { uuid?: string }; answer: { uuid: string; subscription_url: string } }
  setVpnAutoRenew: {
    body: { uuid?: string; enabled: boolean; period?: number; period_months?: number }
    answer: VpnSubscription
  }
  setVpnName: { body: { uuid?: string; name: string | null }; answer: VpnSubscription }
  removeVpnDevice: {
    body: { uuid?: string; device: string }
    answer: { uuid: string; removed: string; devices: readonly VpnDevice[] }
  }
  quoteVpnRefund: { query: { uuid?: string }; answer: { uuid: string; refund_rub: number } }
  deleteVpn: {
    body: { uuid?: string }
    answer: { uuid: string; deleted: true; refunded_rub: number; balance_rub: number }
  }
  listOrders: {
    query: { limit?: number; cursor?: string; idempotency_key?: string }
    answer: { orders: readonly Order[]; next_cursor: string | null }
  }
  getOrder: { params: { order_id: string }; answer: OrderDetails }
  listEvents: {
    query: {
      limit?: number
      cursor?: string
      after?: number
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
        | 'password.set'
        | 'password.changed'
        | 'email.set'
        | 'second_factor.set'
        | 'second_factor.removed'
        | 'recovery_codes.made'
        | 'recovery_code.used'
    }
    answer: { events: readonly Event[]; next_cursor: string | null }
  }
  listTokens: { answer: { tokens: readonly Token[] } }
  createToken: {
    body: {
      name?: string
      scopes?: readonly ('read' | 'trade' | 'pay' | 'passwords')[]
      cap_rub?: number | null
      from?: readonly string[]
      expires_at?: string | null
    }
    answer: NewToken
  }
  revokeToken: { body: { token_id: string }; answer: { token_id: string; revoked: boolean } }
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
  quoteProlongingOfMany: ['POST', '/dedicated/prolong/quote'],
  prolongDedicated: ['POST', '/dedicated/prolong', 'keyed'],
  setProtocol: ['POST', '/dedicated/protocol'],
  listDedicated: ['GET', '/dedicated/list'],
  getProxy: ['GET', '/dedicated/{id}'],
  listCountries: ['GET', '/dedicated/country'],
  countAvailable: ['GET', '/dedicated/count'],
  setComment: ['POST', '/dedicated/comment'],
  setAutoRenew: ['POST', '/dedicated/auto-renew'],
  checkProxy: ['POST', '/dedicated/check'],
  replaceProxy: ['POST', '/dedicated/replace', 'keyed'],
  allowSource: ['POST', '/dedicated/whitelist/add'],
  disallowSource: ['POST', '/dedicated/whitelist/remove'],
  resetPasswords: ['POST', '/dedicated/password/reset'],
  exportDedicated: ['GET', '/dedicated/export'],
  quoteTraffic: ['GET', '/premium/traffic/quote'],
  buyTraffic: ['POST', '/premium/traffic/buy', 'keyed'],
  getTraffic: ['GET', '/premium/traffic/balance'],
  createSubuser: ['POST', '/premium/subusers', 'keyed'],
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
  addVpnDevice: ['POST', '/vpn/devices', 'keyed'],
  getVpnConfig: ['GET', '/vpn/config'],
  resetVpnLink: ['POST', '/vpn/link/reset'],
  setVpnAutoRenew: ['POST', '/vpn/auto-renew'],
  setVpnName: ['POST', '/vpn/name'],
  removeVpnDevice: ['POST', '/vpn/devices/remove'],
  quoteVpnRefund: ['GET', '/vpn/delete/quote'],
  deleteVpn: ['POST', '/vpn/delete'],
  listOrders: ['GET', '/orders'],
  getOrder: ['GET', '/orders/{order_id}'],
  listEvents: ['GET', '/events'],
  listTokens: ['GET', '/tokens'],
  createToken: ['POST', '/tokens/create', 'keyed'],
  revokeToken: ['POST', '/tokens/revoke'],
} as const
