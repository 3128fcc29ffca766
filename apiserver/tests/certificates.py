"""Certificates of tests, valid until 2120; their private keys are lost."""

AUTHORITY = (
    "-----BEGIN CERTIFICATE-----\n"
    "MIHhMIGUoAMCAQICAQEwBQYDK2VwMA8xDTALBgNVBAMMBHRlc3QwIBcNMjAwMTAx\n"
    "MDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTALBgNVBAMMBHRlc3QwKjAFBgMr\n"
    "ZXADIQDTBkCnNK+hqDKldJLXnS5Om/Ymefd2AkchUsy/F+RMYKMTMBEwDwYDVR0T\n"
    "AQH/BAUwAwEB/zAFBgMrZXADQQAV+S5TPgf0wIvBDh71zhqowmlS/yptNy7QNLAx\n"
    "yPJyk2Z6jA567ouLevINt5BP5Gd2bBwqG44zqLF+JiNhoPYA\n"
    "-----END CERTIFICATE-----\n"
)
"""Certificate of an authority, as PEM."""

SIGNING_REQUEST = (
    "MH8wMwIBADAAMCowBQYDK2VwAyEA0wZApzSvoagypXSS150uTpv2Jnn3dgJHIVLMvxfkTGCgADAFBgMrZXADQQA3JdS63ei/yTIU"
    "yIGDld+aXPIa4JxXuZ4D0j3SDlwjJDOpSYm5edj2jVHsU0M6t7ICsizUKQVgyLdp48scZfAP"
)
"""Request without names, as base64 of DER."""
