/*
 * A FIDO key in software, for tests: a provider of OpenSSH's sk-api of version 0x000a
 * (OpenSSH 9.1 to 10). It holds nothing: what ssh-keygen stores as the key handle is the
 * secret itself, so that a key made with it protects nothing. Nobody touches it, either:
 * it claims a touch wherever one is asked for.
 *
 * The functions of libcrypto 3 are declared here, so that its headers are not needed.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION 0x000a0000
#define ALG_ED25519 1
#define ERR_GENERAL (-1)
#define ERR_UNSUPPORTED (-2)

#define EVP_PKEY_ED25519 1087
typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_md_ctx_st EVP_MD_CTX;
EVP_PKEY *EVP_PKEY_new_raw_private_key(int, void *, const unsigned char *, size_t);
int EVP_PKEY_get_raw_public_key(const EVP_PKEY *, unsigned char *, size_t *);
void EVP_PKEY_free(EVP_PKEY *);
EVP_MD_CTX *EVP_MD_CTX_new(void);
void EVP_MD_CTX_free(EVP_MD_CTX *);
int EVP_DigestSignInit(EVP_MD_CTX *, void *, const void *, void *, EVP_PKEY *);
int EVP_DigestSign(EVP_MD_CTX *, unsigned char *, size_t *, const unsigned char *, size_t);
unsigned char *SHA256(const unsigned char *, size_t, unsigned char *);
int RAND_bytes(unsigned char *, int);

struct sk_option;
struct sk_resident_key;

struct enrolled {
	uint8_t flags;
	uint8_t *public_key;
	size_t public_key_len;
	uint8_t *key_handle;
	size_t key_handle_len;
	uint8_t *signature;
	size_t signature_len;
	uint8_t *attestation_cert;
	size_t attestation_cert_len;
	uint8_t *authdata;
	size_t authdata_len;
};

struct signature {
	uint8_t flags;
	uint32_t counter;
	uint8_t *sig_r;
	size_t sig_r_len;
	uint8_t *sig_s;
	size_t sig_s_len;
};

uint32_t sk_api_version(void) { return API_VERSION; }

int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len, const char *application,
    uint8_t flags, const char *pin, struct sk_option **options, struct enrolled **made)
{
	struct enrolled *e = calloc(1, sizeof(*e));
	EVP_PKEY *key;

	(void)challenge, (void)challenge_len, (void)application, (void)pin, (void)options;
	if (alg != ALG_ED25519)
		return ERR_UNSUPPORTED;
	if (e == NULL || (e->public_key = malloc(32)) == NULL || (e->key_handle = malloc(32)) == NULL ||
	    (e->signature = calloc(1, 1)) == NULL || RAND_bytes(e->key_handle, 32) != 1)
		return ERR_GENERAL;
	e->flags = flags;
	e->public_key_len = e->key_handle_len = 32;
	key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, e->key_handle, 32);
	if (key == NULL || EVP_PKEY_get_raw_public_key(key, e->public_key, &e->public_key_len) != 1)
		return ERR_GENERAL;
	EVP_PKEY_free(key);
	*made = e;
	return 0;
}

/* What is signed is what a token signs: the hash of the application, flags, counter, and
 * the hash of the data (PROTOCOL.u2f). */
int sk_sign(uint32_t alg, const uint8_t *data, size_t data_len, const char *application,
    const uint8_t *handle, size_t handle_len, uint8_t flags, const char *pin,
    struct sk_option **options, struct signature **made)
{
	struct signature *s = calloc(1, sizeof(*s));
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY *key;
	uint8_t blob[32 + 1 + 4 + 32];

	(void)pin, (void)options;
	if (alg != ALG_ED25519 || handle_len != 32)
		return ERR_UNSUPPORTED;
	if (s == NULL || ctx == NULL || (s->sig_r = malloc(64)) == NULL)
		return ERR_GENERAL;
	s->flags = flags & 0x05; /* presence, verification */
	s->counter = 1;
	s->sig_r_len = 64;
	SHA256((const uint8_t *)application, strlen(application), blob);
	blob[32] = s->flags;
	memcpy(blob + 33, "\0\0\0\1", 4);
	SHA256(data, data_len, blob + 37);
	key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, handle, handle_len);
	if (key == NULL || EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(ctx, s->sig_r, &s->sig_r_len, blob, sizeof(blob)) != 1)
		return ERR_GENERAL;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	*made = s;
	return 0;
}

int sk_load_resident_keys(const char *pin, struct sk_option **options, struct sk_resident_key ***keys, size_t *n)
{
	(void)pin, (void)options, (void)keys, (void)n;
	return ERR_UNSUPPORTED;
}
